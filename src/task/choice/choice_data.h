// Tokenized rows of multiple choice in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/streams.h"
#include "task/choice/choice_rows.h"
#include "task/pair_input.h"
#include "task/recorded.h"

namespace bertrain {

// The pair of each choice with its context: those of a row one behind the other, rows in their order.
// Tokenizes on all cores.
std::vector<PairInput> encode_choices(const std::vector<ChoiceRow>& rows,
                                      const PairEncoder& encoder);

// One choice as the model reads it: its pieces, and how many of them are of segment 0.
struct ChoicePart {
  std::span<const int32_t> ids;
  size_t first = 0;
};

// A row of these choices with places for `places`, which are not fewer: input_ids and segment_ids of
// all of them one behind the other, choice and choice_position (of each token: of which choice, and
// where in it), choice_first and choice_there (of each place), label (0 where it is −1: not known), row,
// as notes id (where it is not empty) and gold (of a label that is known).
Example choice_example(std::span<const ChoicePart> choices, int64_t places, int64_t label,
                       const std::string& id, int64_t row);

// 4 bytes a token.
class ChoiceData {
 public:
  explicit ChoiceData(std::string name) : name_(std::move(name)) {}

  // The first row says how many choices each has.
  void add(const std::vector<ChoiceRow>& rows, const PairEncoder& encoder);
  // Recorded rows, the first `most` where that is not 0: a record for each choice, one behind the
  // other. Returns how many records there are.
  uint64_t add(RecordedReader& reader, int64_t most);

  uint64_t size() const { return labels_.size(); }
  int64_t choices() const { return choices_; }  // of a row
  const std::string& name() const { return name_; }
  // See choice_example.
  Example example(uint64_t index, int64_t places) const;
  std::string place(int64_t row) const;  // "FILE:LINE", of records FILE:NUMBER
  void report() const;                   // logs rows, choices, lengths, and how many were cut

 private:
  void add_choices(std::span<const PairInput> inputs);

  std::string name_;  // the file
  int64_t choices_ = 0;
  std::vector<int32_t> ids_;
  std::vector<uint64_t> end_;    // in ids_, by choice
  std::vector<uint32_t> first_;  // by choice: ids of segment 0
  std::vector<int64_t> labels_;  // by row, as what follows
  std::vector<std::string> row_ids_;
  std::vector<uint64_t> line_;
  uint64_t cut_ = 0;  // choices that did not fit
};

ExampleStream stream(std::shared_ptr<const ChoiceData> data, int64_t places);

}  // namespace bertrain
