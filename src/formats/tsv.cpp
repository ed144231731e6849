// Tab-separated values without any quoting, as the reference reads them.
#include <algorithm>

#include "formats/row_parser.h"

namespace bertrain {
namespace {

class TsvParser : public RowParser {
 public:
  void parse(std::string& line, TextLines&, std::vector<std::string>& fields) override {
    fields.clear();
    for (size_t start = 0; start <= line.size();) {
      size_t tab = std::min(line.find('\t', start), line.size());
      fields.push_back(line.substr(start, tab - start));
      start = tab + 1;
    }
  }
};

}  // namespace

std::unique_ptr<RowParser> make_tsv_parser() { return std::make_unique<TsvParser>(); }

}  // namespace bertrain
