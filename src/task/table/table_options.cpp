// Ranges and names, each with a message of its own.
#include "task/table/table_options.h"

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "text/unicode.h"

namespace bertrain {

RowOptions row_options(const ClassificationOptions& o, bool header, bool blank_is_row) {
  RowOptions rows;
  if (!o.format.empty()) rows.format = parse_row_format(o.format);
  if (!o.trained_format.empty()) rows.unnamed = parse_row_format(o.trained_format);
  rows.header = header;
  rows.skip_bad = parse_bad_rows(o.bad_rows);
  rows.blank_is_row = blank_is_row;
  InvalidUtf8 how = parse_invalid_utf8(o.invalid_utf8);
  rows.repair = [how](std::string& line, std::string_view place) {
    return repair_utf8(line, how, place);
  };
  return rows;
}

void check_ranges(const ClassificationOptions& o, int64_t positions) {
  check_data_options(o, positions);
  check_dev_fraction(o.dev_fraction);
  check_classifier_dropout(o.classifier_dropout);
}

LongText long_text_of(const ClassificationOptions& o) {
  if (o.doc_stride < 0 || o.doc_stride > kMostStride) {
    throw usage_error("--doc_stride={}: 0 to {} expected", o.doc_stride, kMostStride);
  }
  std::optional<LongText> how = o.long_text.empty() ? LongText::head : find_long_text(o.long_text);
  if (!how) {
    throw usage_error("--long_text={}: head, head_tail or windows expected", o.long_text);
  }
  if (o.doc_stride > 0 && how != LongText::windows) {
    throw usage_error("--doc_stride={}: it is for --long_text=windows, and here that is {}",
                      o.doc_stride, name_of(*how));
  }
  return *how;
}

}  // namespace bertrain
