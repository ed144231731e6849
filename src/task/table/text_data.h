// Tokenized rows of texts with their labels: whole in memory for training, or one after the other
// for prediction.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "data/streams.h"
#include "task/table/long_text.h"
#include "task/table/target.h"
#include "task/table/text_rows.h"

namespace bertrain {

// Rows in memory, 4 bytes a token. A row is an example, or as many as it has windows.
class TextData {
 public:
  TextData(std::string name, LongText how) : name_(std::move(name)), lengths_(how) {}

  void add(const EncodedText& text, TextRow row);
  // What labels are from here on. Throws Error "FILE:LINE: label 'x' is not among …".
  void set_target(std::shared_ptr<const TextTarget> target);

  uint64_t size() const { return first_.size(); }  // examples
  uint64_t rows() const { return line_.size(); }
  const std::string& name() const { return name_; }
  const std::vector<RowLabel>& labels() const { return labels_; }  // of the rows
  std::vector<RowLabel> labels_of_examples() const;
  std::string place(int64_t row) const;   // "FILE:LINE", of records FILE:NUMBER
  Example example(uint64_t index) const;  // see stream()
  // Logs rows, lengths, and what became of long texts; `part` says which of the file's rows they are.
  void report(std::string_view part = "") const;

 private:
  std::string name_;  // the file
  std::vector<int32_t> ids_;
  std::vector<uint64_t> end_;                  // in ids_
  std::vector<uint32_t> first_, row_;          // ids of segment 0; which row it is (part) of
  std::vector<uint64_t> line_, examples_end_;  // by row, as what follows
  std::vector<RowLabel> labels_;
  std::vector<std::string> row_ids_;
  std::shared_ptr<const TextTarget> target_;
  TextLengths lengths_;
};

// What an Example of a text holds: input_ids, segment_ids, row, what the target puts there, and as
// notes `id` (where the file has ids) and, of a row that has several windows, `window` (which one from 0,
// and of how many).
ExampleStream stream(std::shared_ptr<const TextData> data);

// Reads all rows of a file, or the first `most` where that is not 0, tokenizing on all cores, and hands
// each to `take` in order.
void load_texts(TextRowReader& reader, const LongTextEncoder& encoder, int64_t most,
                const std::function<void(const EncodedText& text, TextRow row)>& take);

// The rows of a file as they are asked for, for files of any length and for standard input, of
// which no more is read than was asked for (`one_by_one`). Labels that the model does not know are
// counted and left out. What was noticed is logged at the end, of each file once in all streams that
// share `told`.
ExampleStream stream_texts(std::unique_ptr<TextRowReader> reader,
                           std::shared_ptr<const LongTextEncoder> encoder,
                           std::shared_ptr<const TextTarget> target, std::shared_ptr<ToldOnce> told,
                           bool one_by_one);

}  // namespace bertrain
