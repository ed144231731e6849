// Fields of a row by their meaning.
#include "task/text_rows.h"

#include "base/error.h"
#include "base/log.h"
#include "text/unicode.h"

namespace bertrain {

TextRowReader::TextRowReader(const std::string& uri, const TextColumns& columns,
                             const RowOptions& options, bool label_optional)
    : rows_(read_rows(uri, options)) {
  bool named = options.header || options.format == RowFormat::jsonl;
  // An empty file without a header has no columns and no rows.
  if (rows_->header().empty()) return;
  // Lines without a header and with one field each, such as sentences typed at a terminal, are texts
  // whatever the training file's columns were called.
  if (!named && label_optional && rows_->header().size() == 1 && columns.text_b.empty()) {
    text_ = 0;
    return;
  }
  auto find = [&](const std::string& name) -> std::optional<size_t> {
    if (name.empty()) return std::nullopt;
    return find_column(*rows_, name);
  };
  text_ = find(columns.text);
  text_b_ = find(columns.text_b);
  id_ = find(columns.id);
  try {
    label_ = find(columns.label);
  } catch (const Error&) {
    if (!label_optional) throw;
  }
  check(text_.has_value(), "a table of texts has a text column");
  if (label_ && (label_ == text_ || label_ == text_b_)) {
    // The label's column of the training table, when this one has the text in its place.
    if (label_optional) {
      label_.reset();
      return;
    }
    throw error(
        "{}: column {} ('{}') is both a text and the label: --text_column and --label_column "
        "must differ",
        uri, *label_ + 1, rows_->header()[*label_]);
  }
}

bool TextRowReader::next(TextRow& row) {
  if (!rows_->next(fields_)) return false;
  row.line = rows_->line_number();
  row.label.reset();
  if (label_) row.label = std::string(strip(fields_.at(*label_)));
  // One column may serve for several: the last use alone takes it.
  row.id = id_ ? fields_.at(*id_) : std::string();
  row.text_b = text_b_ ? fields_.at(*text_b_) : std::string();
  row.text = std::move(fields_.at(*text_));
  return true;
}

void TextRowReader::report() const {
  const RowCounts& counts = rows_->counts();
  if (counts.blank > 0) log_line("{}: {} blank lines were passed over", rows_->uri(), counts.blank);
  if (counts.repaired > 0) {
    log_warning("{}: {} lines were not UTF-8 and have been changed", rows_->uri(), counts.repaired);
  }
  if (counts.bad > 0) {
    log_warning("{}: {} rows were passed over, the first: {}", rows_->uri(), counts.bad,
                counts.first_bad);
  }
}

}  // namespace bertrain
