// Tables in text files, row by row: TSV, CSV or JSON lines behind one reader.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace bertrain {

// tsv    one row a line, fields between tabs, no quoting: quote characters are text, as in the
// reference csv    RFC 4180: a field in quotes may hold commas, line ends and doubled quotes jsonl
// one object a line; its keys are the columns. Strings as they are, null empty, anything else as
// its JSON text
enum class RowFormat { tsv, csv, jsonl };

// What a field is beside its text: of JSON lines only, null, an array or an object.
enum class FieldKind { text, null, list, object };

struct RowOptions {
  std::optional<RowFormat>
      format;  // absent: by the name's ending (.csv .jsonl .ndjson, each also .gz), else `unnamed`
  RowFormat unnamed = RowFormat::tsv;
  bool header = true;     // the first row names the columns (jsonl has names anyway)
  bool skip_bad = false;  // --bad_rows=skip: a row that cannot be read is counted and passed over
  bool blank_is_row =
      false;  // a blank line is a row of one empty field where rows have one field (tsv, csv)
  // A key that jsonl rows may have although the first object lacks it: such rows are counted.
  std::string noticed_key;
  // --invalid_utf8: makes a line valid UTF-8 and says whether it had to change it, or throws an
  // Error that begins with `place`, which makes the row a bad one. Absent: bytes are passed on as
  // they are.
  std::function<bool(std::string& line, std::string_view place)> repair;
};

struct RowCounts {
  uint64_t rows = 0;      // given
  uint64_t blank = 0;     // blank lines passed over
  uint64_t bad = 0;       // rows passed over
  uint64_t repaired = 0;  // lines that `repair` changed
  uint64_t noticed = 0;   // rows with `noticed_key`, which is no column
  std::string first_bad;  // the message of the first row passed over
};

class RowReader {
 public:
  virtual ~RowReader() = default;
  // The columns' names; without a header "1", "2", … as many as the first row has fields.
  virtual const std::vector<std::string>& header() const = 0;
  // The next row, as many fields as the header; false at the end. Throws an Error "FILE:LINE: what
  // is wrong" for a row with another number of fields, an open quote, what is not JSON, or lacks a
  // key of the first object (other keys than the first object's are left out).
  virtual bool next(std::vector<std::string>& fields) = 0;
  // The row last given is of no use after all: throws `fault`, or with skip_bad counts the row among
  // those passed over.
  virtual void refuse(const Error& fault) = 0;
  // Of the row last given.
  virtual FieldKind kind(size_t column) const = 0;
  // The items of an array, strings as they are and numbers as their JSON text. Throws Error with the
  // place for other items.
  virtual std::vector<std::string> list(size_t column) const = 0;
  virtual uint64_t line_number() const = 0;  // of the row's first line, from 1
  virtual const std::string& uri() const = 0;
  virtual const RowCounts& counts() const = 0;
  std::string place() const;  // "FILE:LINE" of the last row, to put in front of an Error
};

// Opens a file ("-" is standard input) and reads as far as the header needs. A byte order mark is
// skipped, lines may end in CRLF, blank lines are counted and passed over. Throws if a header is
// expected and the file is empty.
std::unique_ptr<RowReader> read_rows(std::string_view uri, RowOptions options = {});

bool is_row_format(std::string_view name);
// Whether a file is called as a table: .tsv, .csv, .jsonl, .ndjson, each also .gz.
bool is_named_as_rows(std::string_view uri);
RowFormat parse_row_format(std::string_view name);  // "tsv", "csv", "jsonl"; usage error otherwise
bool parse_bad_rows(std::string_view name);  // "skip" → true, "fail" → false; usage error otherwise

// Reads on to a row that `take` wants; false at the end. What it throws makes the row one of no use
// (RowReader::refuse), as what is wrong with its fields is no less wrong than their number.
bool next_wanted(RowReader& rows, std::vector<std::string>& fields,
                 const std::function<bool()>& take);

// Logs what was not as expected in the rows read so far: blank lines, lines that `repair` changed, bad
// rows.
void report_counts(const RowReader& rows);

// The index of a column given by its name, or else by its number from 1. Throws an Error that lists
// the names.
size_t find_column(const RowReader& rows, std::string_view name_or_number);
// The same, nullopt where there is no such column. Two of that name are an Error all the same.
std::optional<size_t> find_optional_column(const RowReader& rows, std::string_view name_or_number);

}  // namespace bertrain
