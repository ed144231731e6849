// Any bytes as a task's recorded rows and their meta data. The first byte chooses the task, and whether texts have windows; then
// comes the meta data's JSON to a zero byte (nothing: that of a sound file), then records, each behind its length in two bytes.
#include "data/example.h"
#include "formats/tfrecord.h"
#include "fuzz_input.h"
#include "task/catalog/catalog.h"
#include "task/tiny_config.h"

namespace bertrain {
namespace {

constexpr const char* kRows = "mem://fuzzed/rows";
constexpr const char* kMeta = "mem://fuzzed/meta.json";
constexpr int64_t kLength = 8;

struct Kind {
  const char *task, *meta;
};
constexpr Kind kKinds[] = {
    {"classification", R"({"task_type": "bert_classification", "num_labels": 2)"},
    {"multilabel", R"({"task_type": "bert_multilabel_classification", "num_labels": 2)"},
    {"regression", R"({"task_type": "bert_regression")"},
    {"multiple_choice", R"({"task_type": "bert_multiple_choice", "num_labels": 2)"},
    {"tagging", R"({"task_type": "tagging", "num_labels": 2)"},
    {"squad", R"({"task_type": "bert_squad", "doc_stride": 2, "max_query_length": 2)"},
};

std::shared_ptr<const Tokenizer> toy() {
  static const auto tokenizer = std::make_shared<const Tokenizer>(
      Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\nb\n##b\n0\n1\n", "v"),
      TokenizerOptions{});
  return tokenizer;
}

std::string records_of(std::string_view input) {
  std::string file;
  while (input.size() >= 2) {
    auto low = static_cast<unsigned char>(input[0]), high = static_cast<unsigned char>(input[1]);
    size_t size = std::min<size_t>(low + 256u * high, input.size() - 2);
    file += frame_record(input.substr(2, size));
    input.remove_prefix(2 + size);
  }
  return file;
}

void require_examples(const Task& task) {
  const Schema schema = task.schema();
  for (const std::string& split : task.splits()) {
    ExampleStream stream = task.examples(split);
    uint64_t count = 0;
    while (std::optional<Example> example = stream->next()) {
      ++count;
      auto length = static_cast<int64_t>(integers(*example, "input_ids").size());
      check(length >= 1 && length <= task.max_seq_length(), "an example fits the model");
      for (int64_t id : integers(*example, "input_ids")) check(id >= 0 && id < 11, "a piece");
      for (const auto& [name, field] : schema) {
        check(example->contains(name), "an example has the fields of the schema");
      }
    }
    check(split == "test" || task.count(split) == count, "as many examples as were counted");
  }
}

void fuzz(std::string_view input) {
  if (input.empty()) return;
  auto first = static_cast<unsigned char>(input[0]);
  const Kind& kind = kKinds[first % std::size(kKinds)];
  input.remove_prefix(1);
  size_t end = std::min(input.find('\0'), input.size());
  std::string meta(input.substr(0, end));
  if (meta.empty())
    meta = std::string(kind.meta) + fmt::format(R"(, "max_seq_length": {}}})", kLength);
  write_text(kMeta, meta);
  write_text(kRows, records_of(input.substr(std::min(end + 1, input.size()))));
  TaskOptions options;
  options.config = tiny_config(11, 16);
  options.tokenizer = toy();
  ClassificationOptions& table = options.classification;
  table.train_file = table.dev_file = kRows;
  table.input_meta_data_path = kMeta;
  if (first >= std::size(kKinds)) table.long_text = "windows";
  options.choice.table = table;
  options.tagging.train_file = options.tagging.dev_file = options.squad.train_file = kRows;
  options.tagging.input_meta_data_path = options.squad.input_meta_data_path = kMeta;
  refusing([&] { require_examples(*make_task(kind.task, options)); });
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
