// Any bytes as each file of a benchmark's folder, or as tables of our own; the first two bytes choose which, and how long
// texts are read.
#include "fuzz_input.h"
#include "task/table/classification.h"
#include "task/table/layouts.h"
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
    int64_t row = 0;
    while (std::optional<Example> example = stream->next()) {
      ++count;
      size_t length = integers(*example, "input_ids").size();
      check(length >= 2 && length <= kLength, "an example fits the model");
      check(integers(*example, "segment_ids").size() == length, "every token has its segment");
      int64_t mine = integers(*example, "row").at(0);
      check(mine == row || mine == row + 1, "rows come in their order");
      row = mine;
    }
    check(split == "test" || task.count(split) == count, "as many examples as were counted");
  }
}

void fuzz(std::string_view input) {
  if (input.size() < 2) return;
  auto which = static_cast<unsigned char>(input[0]), how = static_cast<unsigned char>(input[1]);
  input.remove_prefix(2);
  ClassificationOptions options;
  options.max_seq_length = kLength;
  options.long_text = how % 3 == 0 ? "head" : how % 3 == 1 ? "head_tail" : "windows";
  options.bad_rows = how & 64 ? "skip" : "fail";
  options.invalid_utf8 = how & 128 ? "replace" : "error";
  std::vector<std::string> names = layout_names();
  std::string kind = "classification";
  if (size_t chosen = which % (names.size() + 6); chosen < names.size()) {
    const TableLayout& layout = *find_layout(names[chosen]);
    options.layout = layout.name;
    options.data_dir = "mem://fuzzed";
    for (const TableLayout::File& file : layout.files) {
      write_text("mem://fuzzed/" + file.name, input);
    }
    options.test_file = "mem://fuzzed/" + layout.file("test").name;
    kind = layout.kind;
  } else {
    constexpr const char* kKinds[] = {"classification", "multilabel", "regression"};
    chosen -= names.size();
    kind = kKinds[chosen % 3];
    options.format = chosen < 3 ? "tsv" : "jsonl";
    if (how & 32) options.text_b_column = "b";
    write_text(kFuzzed, input);
    options.train_file = options.dev_file = options.test_file = kFuzzed;
  }
  refusing([&] {
    require_examples(*make_classification(kind, options, tiny_config(11, 16), toy(), nullptr));
  });
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
