// Lines of plain text as examples, for tasks whose rows have no columns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "data/streams.h"
#include "task/pair_input.h"

namespace bertrain {

struct TextLineOptions {
  std::string input_file;  // "-" is standard input, whose lines can be asked for once
  std::string invalid_utf8 = "error";
  int64_t max_seq_length = 128;  // longer texts are cut, which is counted and said
  int64_t positions = 0;         // of the model, for what is said
};

// Throws Error where the file is not there, or holds TFRecords; a pipe is not looked into.
void require_text_lines(const std::string& file);

// What a task adds to the example of a line; `place` is FILE:LINE.
using FinishLine =
    std::function<void(const PairInput& input, std::string_view place, Example& example)>;

// Each line an example: input_ids, segment_ids, `row` from 0, and as a note the line itself, `text`.
// At the end of the file what was noticed is logged, and `at_end` (may be empty) called with the
// number of lines, once in all streams that share `told`.
ExampleStream read_text_lines(const TextLineOptions& options,
                              std::shared_ptr<const Tokenizer> tokenizer,
                              std::shared_ptr<ToldOnce> told, FinishLine finish,
                              std::function<void(int64_t lines)> at_end = {});

}  // namespace bertrain
