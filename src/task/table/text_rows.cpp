// Fields of a row by their meaning.
#include "task/table/text_rows.h"

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

RowOptions noticing(RowOptions options, const std::string& key) {
  options.noticed_key = key;
  return options;
}

}  // namespace

TextRowReader::TextRowReader(const std::string& uri, const TextColumns& columns,
                             const RowOptions& options, bool label_optional)
    : label_name_(columns.label), rows_(read_rows(uri, noticing(options, columns.label))) {
  renamed_ = columns.renamed;
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
  // The label first: where it was asked for by name, its absence says more than that of a text.
  if (!label_optional) {
    label_ = find(columns.label);
  } else if (!columns.label.empty()) {
    label_ = find_optional_column(*rows_, columns.label);
  }
  text_ = find(columns.text);
  text_b_ = find(columns.text_b);
  id_ = find(columns.id);
  if (columns.only) {
    only_ = find(columns.only->first);
    only_value_ = columns.only->second;
  }
  check(text_.has_value(), "a table of texts has a text column");
  if (label_ && (label_ == text_ || label_ == text_b_)) {
    // The label's column of the training table, when this one has the text in its place.
    if (label_optional) {
      label_.reset();
      return;
    }
    throw error(
        "{}: column {} ({}) is both a text and the label: --text_column and --label_column "
        "must differ",
        uri, *label_ + 1, quote(rows_->header()[*label_]));
  }
}

bool TextRowReader::next(TextRow& row) {
  return next_wanted(*rows_, fields_, [&] {
    if (only_ && fields_.at(*only_) != only_value_) {
      ++others_;
      return false;
    }
    take(row);
    return true;
  });
}

void TextRowReader::take(TextRow& row) {
  row.line = rows_->line_number();
  row.label = label();
  if (renamed_ && row.label && row.label->text == renamed_->first) row.label = renamed_->second;
  // One column may serve for several: the last use alone takes it.
  row.id = id_ ? fields_.at(*id_) : std::string();
  row.text_b = text_b_ ? fields_.at(*text_b_) : std::string();
  row.text = std::move(fields_.at(*text_));
  std::string fault = fault_of_ ? fault_of_(row) : "";
  if (!fault.empty()) throw error("{}: {}", rows_->place(), fault);
}

std::optional<RowLabel> TextRowReader::label() const {
  FieldKind kind = label_ ? rows_->kind(*label_) : FieldKind::null;
  if (kind == FieldKind::null) return std::nullopt;
  if (kind == FieldKind::object) {
    throw error("{}: the label is an object; a string, or an array of strings, is expected",
                rows_->place());
  }
  if (kind == FieldKind::text) return RowLabel(std::string(strip(fields_.at(*label_))));
  std::vector<std::string> names;
  for (const std::string& item : rows_->list(*label_)) {
    std::string_view name = strip(item);
    if (!name.empty()) names.emplace_back(name);
  }
  return RowLabel(std::move(names));
}

void TextRowReader::report() const {
  if (others_ > 0) {
    log_line("{}: {} rows that are not of {} were passed over", rows_->uri(), others_,
             quote(only_value_));
  }
  report_counts(*rows_);
  report_unread_labels(*rows_, label_name_);
}

void report_unread_labels(const RowReader& rows, const std::string& label) {
  uint64_t noticed = rows.counts().noticed;
  if (noticed == 0) return;
  log_warning(
      "{}: {} rows have a {}, but the first one has none, so their labels are not read; every "
      "object must have that key (null where the label is not known)",
      rows.uri(), noticed, quote(label));
}

}  // namespace bertrain
