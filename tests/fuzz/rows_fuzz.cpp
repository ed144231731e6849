// Any bytes as a table in each format; the first byte chooses the options.
#include "formats/rows.h"
#include "fuzz_input.h"

namespace bertrain {
namespace {

void fuzz(std::string_view input) {
  unsigned char choice = input.empty() ? 0 : static_cast<unsigned char>(input[0]);
  write_text(kFuzzed, input.empty() ? input : input.substr(1));
  for (RowFormat format : {RowFormat::tsv, RowFormat::csv, RowFormat::jsonl}) {
    refusing([&] {
      RowOptions options;
      options.format = format;
      options.header = choice & 1;
      options.skip_bad = choice & 2;
      options.blank_is_row = choice & 4;
      auto rows = read_rows(kFuzzed, options);
      std::vector<std::string> fields;
      while (rows->next(fields)) {
        check(fields.size() == rows->header().size(), "a row has as many fields as the header");
      }
    });
  }
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
