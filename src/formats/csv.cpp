// Comma-separated values with quotes, RFC 4180.
#include <algorithm>

#include "base/error.h"

#include "formats/row_parser.h"

namespace bertrain {
namespace {

// An open quote swallows what follows; beyond this it is an error rather than a row.
constexpr size_t kMaxRowBytes = size_t{64} << 20;

class CsvParser : public RowParser {
 public:
  CsvParser(const RowOptions& options, RowCounts& counts) : options_(options), counts_(counts) {}

  void parse(std::string& line, TextLines& lines, std::vector<std::string>& fields) override {
    first_line_ = lines.number();
    taken_.clear();
    try {
      split(line, lines, fields);
    } catch (const Error&) {
      // What a stray quote swallowed are rows of their own if this one is passed over.
      if (options_.skip_bad) lines.put_back(std::move(taken_));
      throw;
    }
  }

 private:
  void split(std::string& line, TextLines& lines, std::vector<std::string>& fields) {
    size_t position = 0;
    for (fields.clear();; ++position) {
      fields.emplace_back();
      if (position < line.size() && line[position] == '"') {
        quoted(line, ++position, lines, fields.back());
      } else {
        // A quote that does not open the field is text.
        size_t comma = std::min(line.find(',', position), line.size());
        fields.back() = line.substr(position, comma - position);
        position = comma;
      }
      if (position == line.size()) return;
      if (line[position] != ',') {
        throw error(
            "{}: text follows the closing quote of field {}; a quote within quotes is written \"\"",
            lines.place(lines.number()), fields.size());
      }
    }
  }

  // From behind the opening quote to behind the closing one, over as many lines as it takes.
  void quoted(std::string& line, size_t& position, TextLines& lines, std::string& field) {
    for (;;) {
      size_t quote = line.find('"', position);
      if (quote != std::string::npos) {
        field.append(line, position, quote - position);
        position = quote + 1;
        if (position == line.size() || line[position] != '"') return;
        field += '"';
        ++position;
        continue;
      }
      field.append(line, position);
      field += '\n';
      std::string next;
      bool more = lines.next(next);
      if (more && options_.skip_bad) taken_.push_back(next);
      if (!more || field.size() > kMaxRowBytes) {
        throw error("{}: a quote is opened and not closed", lines.place(first_line_));
      }
      if (options_.repair && options_.repair(next, lines.place(lines.number()))) {
        ++counts_.repaired;
      }
      line = std::move(next);
      position = 0;
    }
  }

  const RowOptions& options_;
  RowCounts& counts_;
  uint64_t first_line_ = 0;
  std::vector<std::string> taken_;  // the row's lines after the first, if they may be needed again
};

}  // namespace

std::unique_ptr<RowParser> make_csv_parser(const RowOptions& options, RowCounts& counts) {
  return std::make_unique<CsvParser>(options, counts);
}

}  // namespace bertrain
