// Rows of any format: header, counts, bad and blank lines; and which format a file is in.
#include "formats/rows.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "formats/row_parser.h"

namespace bertrain {
namespace {

std::unique_ptr<RowParser> make_parser(RowFormat format, const RowOptions& options,
                                       RowCounts& counts) {
  switch (format) {
    case RowFormat::tsv:
      return make_tsv_parser();
    case RowFormat::csv:
      return make_csv_parser(options, counts);
    case RowFormat::jsonl:
      return make_jsonl_parser(options, counts);
  }
  throw std::logic_error("a row format");
}

std::optional<RowFormat> format_of_name(std::string_view uri) {
  std::string name(uri.ends_with(".gz") ? uri.substr(0, uri.size() - 3) : uri);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (name.ends_with(".csv")) return RowFormat::csv;
  if (name.ends_with(".jsonl") || name.ends_with(".ndjson")) return RowFormat::jsonl;
  if (name.ends_with(".tsv")) return RowFormat::tsv;
  return std::nullopt;
}

class Rows : public RowReader {
 public:
  Rows(std::string_view uri, RowOptions options)
      : lines_(uri),
        options_(std::move(options)),
        format_(options_.format.value_or(format_of_name(uri).value_or(options_.unnamed))),
        parser_(make_parser(format_, options_, counts_)) {
    read_header();
  }

  const std::vector<std::string>& header() const override { return header_; }
  uint64_t line_number() const override { return line_number_; }
  const std::string& uri() const override { return lines_.uri(); }
  const RowCounts& counts() const override { return counts_; }
  FieldKind kind(size_t column) const override { return parser_->kind(column); }
  std::vector<std::string> list(size_t column) const override { return parser_->list(column); }

  bool next(std::vector<std::string>& fields) override {
    if (has_first_) {
      has_first_ = false;
      fields = std::move(first_);
    } else if (!next_row(fields)) {
      return false;
    }
    ++counts_.rows;
    return true;
  }

  void refuse(const Error& fault) override {
    pass_over(fault);
    --counts_.rows;
  }

 private:
  // The header is needed before the first row is asked for, and without one it is made after the
  // first row.
  void read_header() {
    bool named = options_.header && format_ != RowFormat::jsonl;
    if (!next_row(first_)) {
      if (named)
        throw error("{}: the file is empty; a line with the columns' names is expected", uri());
      return;
    }
    if (named) {
      header_ = std::move(first_);
      return;
    }
    has_first_ = true;
    header_ = parser_->names();
    for (size_t i = header_.size(); i < first_.size(); ++i)
      header_.push_back(std::to_string(i + 1));
  }

  bool next_row(std::vector<std::string>& fields) {
    std::string line;
    while (lines_.next(line)) {
      line_number_ = lines_.number();
      if (line.empty() && !blank_counts()) {
        ++counts_.blank;
        continue;
      }
      try {
        if (options_.repair && options_.repair(line, place())) ++counts_.repaired;
        parser_->parse(line, lines_, fields);
        if (!header_.empty() && fields.size() != header_.size()) {
          throw error("{}: {} fields expected, {} found", place(), header_.size(), fields.size());
        }
        return true;
      } catch (const Error& e) {
        pass_over(e);
      }
    }
    return false;
  }

  void pass_over(const Error& fault) {
    if (!options_.skip_bad) throw Error(fault);
    if (counts_.bad++ == 0) counts_.first_bad = fault.what();
  }

  bool blank_counts() const {
    return options_.blank_is_row && format_ != RowFormat::jsonl && header_.size() <= 1;
  }

  TextLines lines_;
  RowOptions options_;
  RowCounts counts_;
  RowFormat format_;
  std::unique_ptr<RowParser> parser_;
  std::vector<std::string> header_, first_;
  bool has_first_ = false;
  uint64_t line_number_ = 0;
};

}  // namespace

bool TextLines::next(std::string& line) {
  if (!again_.empty()) {
    line = std::move(again_.front());
    again_.pop_front();
  } else {
    if (!lines_->next(line)) return false;
    if (lines_->line_number() == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    if (line.ends_with('\r')) line.pop_back();
  }
  ++number_;
  return true;
}

void TextLines::put_back(std::vector<std::string> lines) {
  number_ -= lines.size();
  again_.insert(again_.begin(), std::make_move_iterator(lines.begin()),
                std::make_move_iterator(lines.end()));
}

std::string TextLines::place(uint64_t number) const { return fmt::format("{}:{}", uri(), number); }

std::string RowReader::place() const { return fmt::format("{}:{}", uri(), line_number()); }

std::unique_ptr<RowReader> read_rows(std::string_view uri, RowOptions options) {
  return std::make_unique<Rows>(uri, std::move(options));
}

bool is_named_as_rows(std::string_view uri) { return format_of_name(uri).has_value(); }

bool is_row_format(std::string_view name) {
  return name == "tsv" || name == "csv" || name == "jsonl";
}

RowFormat parse_row_format(std::string_view name) {
  if (name == "tsv") return RowFormat::tsv;
  if (name == "csv") return RowFormat::csv;
  if (name == "jsonl") return RowFormat::jsonl;
  throw usage_error("'{}' is no format of rows; there are tsv, csv and jsonl", name);
}

bool parse_bad_rows(std::string_view name) {
  if (name == "skip") return true;
  if (name == "fail") return false;
  throw usage_error("--bad_rows={}: fail or skip is expected", name);
}

std::optional<size_t> find_optional_column(const RowReader& rows, std::string_view name_or_number) {
  const std::vector<std::string>& header = rows.header();
  auto found = std::find(header.begin(), header.end(), name_or_number);
  if (found != header.end()) {
    if (std::find(found + 1, header.end(), name_or_number) != header.end()) {
      throw error("{}: two columns are named {}; give the number of one", rows.uri(),
                  quote(name_or_number));
    }
    return static_cast<size_t>(found - header.begin());
  }
  size_t number = 0;
  const char* end = name_or_number.data() + name_or_number.size();
  auto [stop, failure] = std::from_chars(name_or_number.data(), end, number);
  if (failure == std::errc() && stop == end && number >= 1 && number <= header.size()) {
    return number - 1;
  }
  return std::nullopt;
}

bool next_wanted(RowReader& rows, std::vector<std::string>& fields,
                 const std::function<bool()>& take) {
  while (rows.next(fields)) {
    try {
      if (take()) return true;
    } catch (const Error& e) {
      rows.refuse(e);
    }
  }
  return false;
}

void report_counts(const RowReader& rows) {
  const RowCounts& counts = rows.counts();
  if (counts.blank > 0) log_line("{}: {} blank lines were passed over", rows.uri(), counts.blank);
  if (counts.repaired > 0) {
    log_warning("{}: {} lines were not UTF-8 and have been changed", rows.uri(), counts.repaired);
  }
  if (counts.bad > 0) {
    log_warning("{}: {} rows were passed over, the first: {}", rows.uri(), counts.bad,
                counts.first_bad);
  }
}

size_t find_column(const RowReader& rows, std::string_view name_or_number) {
  if (std::optional<size_t> found = find_optional_column(rows, name_or_number)) return *found;
  const std::vector<std::string>& header = rows.header();
  throw error("{}: no column {}; there are {}", rows.uri(), quote(name_or_number),
              header.empty() ? "none" : quote_list(header));
}

}  // namespace bertrain
