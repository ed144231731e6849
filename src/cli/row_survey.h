// What the rows to train on are: how their targets are spread, whether some contradict others, whether
// the vocabulary knows their texts; and a few of them that differ as much as they can.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "task/task.h"
#include "text/tokenizer.h"

namespace bertrain {

// Examples of the same pieces with different targets, whatever the task: no model can learn both.
class Contradictions {
 public:
  explicit Contradictions(const Task& task);
  void add(const Example& example);
  uint64_t count() const { return count_; }  // examples that contradict an earlier one
  // Of the first: "a.tsv:2 and a.tsv:3 are the same pieces with different targets, 'a' and 'b'"; or "".
  const std::string& first() const { return first_; }

 private:
  struct Seen {
    size_t target = 0;  // its hash
    int64_t row = 0;
    std::string kind;
  };
  const Task& task_;
  Schema schema_;
  std::unique_ptr<TargetCounts> kinds_;
  // By a hash of the pieces: of a million rows two have the same by chance once in 40 million files.
  std::unordered_map<size_t, Seen> seen_;
  uint64_t count_ = 0;
  std::string first_;
};

class UnknownPieces {
 public:
  explicit UnknownPieces(const Tokenizer& tokenizer);
  void add(const Example& example);
  double share() const;  // 0 … 1

 private:
  int64_t unknown_;
  uint64_t count_ = 0, all_ = 0;
};

struct RowSurvey {
  std::unique_ptr<TargetCounts> counts;
  uint64_t contradictions = 0;
  std::string contradiction;  // the first
  double unknown = 0;         // share of the pieces
  std::set<int64_t> chosen;   // rows, by number
  std::vector<Example> few;   // their examples, one or several of each, in the order of the file
};

// Reads all examples of "train" twice; the task counts targets. Chooses `count` rows (all, where there
// are fewer) from all of the file, as many of each kind of target as can be; where there are more kinds
// than that, of kinds from all of their order. May throw Stopped.
RowSurvey survey_rows(const Task& task, const Tokenizer& tokenizer, int64_t count);

// `count` positions from 0 to `size` − 1, evenly spaced; all of them where they are fewer.
std::vector<size_t> evenly_spaced(size_t size, size_t count);

}  // namespace bertrain
