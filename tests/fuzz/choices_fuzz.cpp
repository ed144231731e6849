// Any bytes as a table of choices to train on and to answer; the first byte chooses how it is read.
#include "fuzz_input.h"
#include "task/choice/choice.h"
#include "task/tiny_config.h"

namespace bertrain {
namespace {

constexpr int64_t kLength = 8;

std::shared_ptr<const Tokenizer> toy() {
  static const auto tokenizer = std::make_shared<const Tokenizer>(
      Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\nb\n##b\n0\n1\n", "v"),
      TokenizerOptions{});
  return tokenizer;
}

void require_examples(const Task& task) {
  for (const std::string& split : task.splits()) {
    ExampleStream stream = task.examples(split);
    uint64_t count = 0;
    while (std::optional<Example> example = stream->next()) {
      const std::vector<int64_t>& ids = integers(*example, "input_ids");
      check(std::ssize(ids) <= task.max_seq_length(), "a row fits the model");
      check(integers(*example, "choice").size() == ids.size(), "every token is of a choice");
      for (int64_t position : integers(*example, "choice_position")) {
        check(position >= 0 && position < kLength, "a choice fits the model");
      }
      check(integers(*example, "row").at(0) == static_cast<int64_t>(count++),
            "rows in their order");
    }
    check(split == "test" || task.count(split) == count, "as many rows as were counted");
  }
}

void fuzz(std::string_view input) {
  if (input.empty()) return;
  auto how = static_cast<unsigned char>(input[0]);
  write_text(kFuzzed, input.substr(1));
  ChoiceOptions options;
  options.table.max_seq_length = kLength;
  options.table.format = how % 3 == 0 ? "csv" : how % 3 == 1 ? "tsv" : "jsonl";
  options.table.bad_rows = how & 64 ? "skip" : "fail";
  options.table.invalid_utf8 = how & 128 ? "replace" : "error";
  if (how & 32) {  // columns by number
    options.table.header = false;
    options.table.text_column = "1";
    options.table.label_column = "2";
    options.choice_columns = "3,4";
  }
  if (how & 16) {
    options.table.test_file = kFuzzed;
  } else {
    options.table.train_file = options.table.dev_file = kFuzzed;
  }
  refusing([&] { require_examples(*make_choice(options, tiny_config(11, 16), toy(), nullptr)); });
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
