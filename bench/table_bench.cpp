// How long 400,000 made-up pairs, a table of the size of GLUE's largest, take from a file to examples in
// memory. Usage: table_bench [PAIRS [head|head_tail|windows]]
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/machine.h"
#include "formats/rows.h"
#include "made_up_language.h"
#include "storage/storage.h"
#include "task/table/classification.h"
#include "task/tiny_config.h"

namespace bertrain {
namespace {

constexpr std::string_view kHeader = "index\tsentence1\tsentence2\tlabel\n";
constexpr int kFirstWords = 20, kSecondWords = 11;  // on average; as MNLI's premises and hypotheses

void append_text(Language& language, int words, std::string& table) {
  int count = 1 + static_cast<int>(language.random() % static_cast<uint64_t>(2 * words - 1));
  for (int w = 0; w < count; ++w)
    table += (w == 0 ? "" : w % 9 == 8 ? ", " : " ") + language.word();
  table += ".";
}

std::string made_up_table(Language& language, int pairs) {
  std::string table(kHeader);
  for (int row = 0; row < pairs; ++row) {
    table += std::to_string(row) + "\t";
    append_text(language, kFirstWords, table);
    table += "\t";
    append_text(language, kSecondWords, table);
    table += row % 3 == 0 ? "\tyes\n" : "\tno\n";
  }
  return table;
}

}  // namespace
}  // namespace bertrain

int main(int argc, char** argv) {
  using namespace bertrain;
  int pairs = argc > 1 ? std::stoi(argv[1]) : 400'000;
  int threads = use_threads(0);
  Language language;
  auto tokenizer = std::make_shared<Tokenizer>(Vocabulary(language.pieces));
  ClassificationOptions options;
  options.text_column = "sentence1";
  options.text_b_column = "sentence2";
  options.dev_fraction = 0;
  if (argc > 2) options.long_text = argv[2];
  options.train_file = std::filesystem::temp_directory_path() / "table_bench.tsv";
  std::string table = made_up_table(language, pairs);
  write_text(options.train_file, table);
  Clock clock;
  {
    RowOptions plain;
    std::unique_ptr<RowReader> rows = read_rows(options.train_file, plain);
    std::vector<std::string> fields;
    uint64_t bytes = 0;
    while (rows->next(fields)) {
      for (const std::string& field : fields) bytes += field.size() + 1;
    }
    check(bytes + kHeader.size() == table.size(), "all of the table was read");
  }
  double reading = clock.lap();
  auto task = make_classification("classification", options,
                                  tiny_config(static_cast<int64_t>(language.pieces.size()), 128),
                                  tokenizer, nullptr);
  double all = clock.lap();
  std::filesystem::remove(options.train_file);
  fmt::print(
      "{} threads, {} MB: rows alone {:.2f} s; rows, pieces and labels of {} examples {:.2f} s, at "
      "most {} MB of memory\n",
      threads, table.size() / 1'000'000, reading, task->count("train").value(), all,
      peak_memory() / 1'000'000);
}
