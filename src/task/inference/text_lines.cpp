// Reads, repairs, tokenizes.
#include "task/inference/text_lines.h"

#include <utility>

#include "base/error.h"
#include "formats/tfrecord.h"
#include "storage/storage.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

class TextLines final : public Stream<Example> {
 public:
  TextLines(const TextLineOptions& options, std::shared_ptr<const Tokenizer> tokenizer,
            std::shared_ptr<ToldOnce> told, FinishLine finish, std::function<void(int64_t)> at_end)
      : file_(options.input_file),
        invalid_(parse_invalid_utf8(options.invalid_utf8)),
        length_(options.max_seq_length),
        positions_(options.positions),
        tokenizer_(std::move(tokenizer)),
        encoder_(*tokenizer_, options.max_seq_length, false),
        told_(std::move(told)),
        finish_(std::move(finish)),
        at_end_(std::move(at_end)),
        lines_(read_lines(file_)) {}

  std::optional<Example> next() override {
    std::string line;
    if (!lines_->next(line)) {
      report();
      return std::nullopt;
    }
    std::string place = fmt::format("{}:{}", file_, lines_->line_number());
    repaired_ += find_invalid_utf8(line).has_value();
    repair_utf8(line, invalid_, place);
    PairInput input = encoder_.encode(line, "");
    cut_ += input.cut > 0;
    Example example;
    add_input(example, input.ids.data(), input.ids.size(), input.first);
    example["text"] = std::vector<std::string>{std::move(line)};
    example["row"] = std::vector<int64_t>{row_++};
    finish_(input, place, example);
    return example;
  }

 private:
  void report() {
    if (!told_->is_new(file_)) return;
    if (repaired_ > 0) {
      log_warning("{}: {} of {} lines had bytes that are not UTF-8", file_, repaired_, row_);
    }
    if (cut_ > 0) {
      log_line("{}: {} of {} texts were cut to {} pieces, {}", file_, cut_, row_, length_,
               length_ == positions_ ? "which is all that the model has positions for"
                                     : "which --max_seq_length says");
    }
    if (at_end_) at_end_(row_);
  }

  std::string file_;
  InvalidUtf8 invalid_;
  int64_t length_, positions_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  PairEncoder encoder_;
  std::shared_ptr<ToldOnce> told_;
  FinishLine finish_;
  std::function<void(int64_t)> at_end_;
  std::unique_ptr<LineReader> lines_;
  int64_t row_ = 0;
  uint64_t cut_ = 0, repaired_ = 0;
};

}  // namespace

void require_text_lines(const std::string& file) {
  if (is_read_once(file)) return;
  read_lines(file);  // is it there?
  if (!starts_like_tfrecord(file)) return;
  throw error(
      "{}: these are TFRecords, and lines of text are expected: evaluate scores records, and to "
      "label rows finetune it for a task",
      file);
}

ExampleStream read_text_lines(const TextLineOptions& options,
                              std::shared_ptr<const Tokenizer> tokenizer,
                              std::shared_ptr<ToldOnce> told, FinishLine finish,
                              std::function<void(int64_t)> at_end) {
  return std::make_unique<TextLines>(options, std::move(tokenizer), std::move(told),
                                     std::move(finish), std::move(at_end));
}

}  // namespace bertrain
