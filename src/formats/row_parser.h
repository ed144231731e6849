// What the three row formats have in common while being read: checked lines, and a parser that
// takes some of them.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/rows.h"
#include "storage/storage.h"

namespace bertrain {

// Lines of a text without their line ends and without a byte order mark at the start.
class TextLines {
 public:
  explicit TextLines(std::string_view uri) : lines_(read_lines(uri)) {}
  bool next(std::string& line);
  void put_back(std::vector<std::string> lines);  // given again, in this order
  uint64_t number() const { return number_; }     // of the line last given
  const std::string& uri() const { return lines_->uri(); }
  std::string place(uint64_t number) const;

 private:
  std::unique_ptr<LineReader> lines_;
  std::deque<std::string> again_;
  uint64_t number_ = 0;
};

class RowParser {
 public:
  virtual ~RowParser() = default;
  // The fields of the row that begins with `line` (not blank, valid by options.repair); may take
  // more lines. Throws an Error with the place when there is no row to be made of it.
  virtual void parse(std::string& line, TextLines& lines, std::vector<std::string>& fields) = 0;
  // Names that the first row itself carries; empty: the header is a row or numbers.
  virtual std::vector<std::string> names() const { return {}; }
  // Of the row last parsed, as RowReader has them.
  virtual FieldKind kind(size_t /*column*/) const { return FieldKind::text; }
  virtual std::vector<std::string> list(size_t /*column*/) const { return {}; }
};

std::unique_ptr<RowParser> make_tsv_parser();
std::unique_ptr<RowParser> make_csv_parser(const RowOptions& options, RowCounts& counts);
std::unique_ptr<RowParser> make_jsonl_parser(const RowOptions& options, RowCounts& counts);

}  // namespace bertrain
