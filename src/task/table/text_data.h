// Tokenized rows of texts with their labels: whole in memory for training, or one after the other
// for prediction.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "data/streams.h"
#include "task/pair_input.h"
#include "task/table/target.h"
#include "task/table/text_rows.h"

namespace bertrain {

// Rows in memory, 4 bytes a token.
class TextData {
 public:
  explicit TextData(std::string name) : name_(std::move(name)) {}

  void add(const PairInput& input, TextRow row);
  // What labels are from here on. Throws Error "FILE:LINE: label 'x' is not among …".
  void set_target(std::shared_ptr<const TextTarget> target);

  uint64_t size() const { return first_.size(); }
  const std::string& name() const { return name_; }
  const std::vector<RowLabel>& labels() const { return labels_; }
  uint64_t cut_rows() const { return cut_rows_; }
  Example example(uint64_t index) const;  // see text_example
  void report() const;                    // logs rows, lengths and how many were cut

 private:
  std::string name_;  // the file
  std::vector<int32_t> ids_;
  std::vector<uint64_t> end_;    // in ids_
  std::vector<uint32_t> first_;  // ids of segment 0
  std::vector<uint64_t> line_;
  std::vector<RowLabel> labels_;
  std::vector<std::string> row_ids_;
  std::shared_ptr<const TextTarget> target_;
  uint64_t cut_rows_ = 0, longest_ = 0;  // longest: in pieces, before the cut
};

// What an Example of a text holds: input_ids, segment_ids, row, what the target puts there, and as a
// note `id` (where the file has ids).
ExampleStream stream(std::shared_ptr<const TextData> data);

// Reads all rows of a file, or the first `most` where that is not 0, tokenizing on all cores, and hands
// each to `take` in order.
void load_texts(TextRowReader& reader, const PairEncoder& encoder, int64_t most,
                const std::function<void(PairInput input, TextRow row)>& take);

// The rows of a file as they are asked for, for files of any length and for standard input, of
// which no more is read than was asked for (`one_by_one`). Labels that the model does not know are
// counted and left out. What was noticed is logged at the end, of each file once in all streams that
// share `told`.
ExampleStream stream_texts(std::unique_ptr<TextRowReader> reader,
                           std::shared_ptr<const PairEncoder> encoder,
                           std::shared_ptr<const TextTarget> target, std::shared_ptr<ToldOnce> told,
                           bool one_by_one);

}  // namespace bertrain
