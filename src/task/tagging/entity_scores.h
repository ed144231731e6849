// Scores of tags by whole entities, as conlleval counts them (the script of the CoNLL-2000 shared
// task): an entity is right if its first word, its last word and its type are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/scores.h"

namespace bertrain {

struct Entity {
  uint64_t begin, end;  // words [begin, end)
  std::string type;
  bool operator==(const Entity&) const = default;
  auto operator<=>(const Entity&) const = default;
};

// The entities of a sentence's tags, in order. A tag is O or POSITION-TYPE; the type is what stands
// behind the first '-'. One begins at
//   - B (begin) and S or U (single), always;
//   - any other tag behind O, behind another type, behind E or L (last), S and U;
// so I-X begins one behind O (IOB1), and goes on behind B-X and I-X. Each ends where the next tag is O
// or begins one, and behind E, L, S and U. M (middle) and other positions are as I. "[" and "]", of
// conlleval, are as S. A tag without '-' is a position if it is one of these letters (entities without
// types), else an entity of one word of that type, as with conlleval's -r.
std::vector<Entity> entities_of(const std::vector<std::string>& tags);

// Counts over sentences. Ratios without cases are 0.
class EntityScores {
 public:
  // Both as long as the sentence has words.
  void add(const std::vector<std::string>& gold, const std::vector<std::string>& predicted);

  Hits all() const;                                                    // over all types
  const std::map<std::string, Hits>& types() const { return types_; }  // found or predicted
  double accuracy() const;  // of words: equal tags, whatever they are
  uint64_t words() const { return words_; }

 private:
  std::map<std::string, Hits> types_;
  uint64_t words_ = 0, right_ = 0;
};

}  // namespace bertrain
