// Columns to texts.
#include "task/choice/choice_rows.h"

#include <charconv>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "task/table/label_list.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

std::vector<size_t> choice_columns(const RowReader& rows, const std::string& names) {
  std::vector<size_t> found;
  std::vector<std::string> parts = split_list(names, ",", "choice_columns");
  if (parts.size() == 1) {
    while (auto column = find_optional_column(rows, parts[0] + std::to_string(found.size()))) {
      found.push_back(*column);
    }
  } else {
    for (const std::string& part : parts) found.push_back(find_column(rows, part));
  }
  if (found.size() < 2 || found.size() > kMostChoices) {
    throw error(
        "{}: {} columns of choices (--choice_columns={}); 2 to {} expected, as {}0, {}1; the "
        "columns are {}",
        rows.uri(), found.size(), names, kMostChoices, parts[0], parts[0],
        quote_list(rows.header()));
  }
  return found;
}

int64_t label_of(const RowReader& rows, const std::string& field, size_t choices) {
  std::string_view text = strip(field);
  int64_t label = -1;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), label);
  if (failed == std::errc() && end == text.data() + text.size() && label >= 0 &&
      label < static_cast<int64_t>(choices)) {
    return label;
  }
  throw error("{}: label {}: the number of the right choice, 0 to {}, expected", rows.place(),
              quote(field), choices - 1);
}

}  // namespace

int64_t read_choices(const std::string& uri, const ChoiceColumns& columns,
                     const RowOptions& options, bool question_optional, bool label_needed,
                     int64_t most, const std::function<void(ChoiceRow row)>& take) {
  std::unique_ptr<RowReader> rows = read_rows(uri, options);
  std::vector<size_t> choices = choice_columns(*rows, columns.choices);
  size_t context = find_column(*rows, columns.context);
  std::optional<size_t> question, label, id;
  if (!columns.question.empty()) {
    question = question_optional ? find_optional_column(*rows, columns.question)
                                 : find_column(*rows, columns.question);
  }
  label =
      label_needed ? find_column(*rows, columns.label) : find_optional_column(*rows, columns.label);
  if (!columns.id.empty()) id = find_column(*rows, columns.id);
  std::vector<std::string> fields;
  for (int64_t count = 0; (most == 0 || count < most) && rows->next(fields); ++count) {
    ChoiceRow row;
    row.line = rows->line_number();
    row.context = fields.at(context);
    if (id) row.id = fields.at(*id);
    for (size_t i = 0; i < choices.size(); ++i) {
      const std::string& choice = fields.at(choices[i]);
      if (strip(choice).empty()) {
        throw error("{}: choice {} ('{}') is empty; every row of a file has as many choices",
                    rows->place(), i, rows->header()[choices[i]]);
      }
      std::string start = question ? fields.at(*question) : "";
      row.choices.push_back(start.empty() ? choice : start + " " + choice);
    }
    bool is_known = label && !strip(fields.at(*label)).empty();
    if (is_known) row.label = label_of(*rows, fields.at(*label), choices.size());
    if (!is_known && label_needed) throw error("{}: the label is empty", rows->place());
    take(std::move(row));
  }
  report_counts(*rows);
  return static_cast<int64_t>(choices.size());
}

}  // namespace bertrain
