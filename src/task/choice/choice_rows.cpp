// Columns to texts.
#include "task/choice/choice_rows.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "task/table/label_list.h"
#include "task/table/text_rows.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

// What files whose answers are kept back have in the label's place.
constexpr std::string_view kKeptBack = "-1";

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
  std::set<size_t> seen;
  for (size_t column : found) {
    if (seen.insert(column).second) continue;
    throw usage_error("{}: column {} ('{}') is twice among the choices (--choice_columns={})",
                      rows.uri(), column + 1, rows.header()[column], names);
  }
  return found;
}

}  // namespace

ChoiceRowReader::ChoiceRowReader(const std::string& uri, const ChoiceColumns& columns,
                                 const RowOptions& options, ChoiceLabels labels)
    : label_name_(columns.label), labels_(labels) {
  RowOptions noticing = options;
  noticing.noticed_key = label_name_;
  rows_ = read_rows(uri, noticing);
  // An empty file without a header has no columns and no rows.
  if (!rows_->header().empty()) find_columns(columns);
}

void ChoiceRowReader::find_columns(const ChoiceColumns& columns) {
  choices_ = choice_columns(*rows_, columns.choices);
  context_ = find_column(*rows_, columns.context);
  if (!columns.question.empty()) {
    question_ = columns.question_optional ? find_optional_column(*rows_, columns.question)
                                          : find_column(*rows_, columns.question);
  }
  label_ = labels_ == ChoiceLabels::optional ? find_optional_column(*rows_, columns.label)
                                             : find_column(*rows_, columns.label);
  if (!columns.id.empty()) id_ = find_column(*rows_, columns.id);
  auto is_choice = [&](size_t column) {
    return std::find(choices_.begin(), choices_.end(), column) != choices_.end();
  };
  auto refuse = [&](size_t column, const char* what, const char* flags) {
    throw usage_error("{}: column {} ('{}') is both {}: {} must differ", rows_->uri(), column + 1,
                      rows_->header()[column], what, flags);
  };
  if (is_choice(context_)) {
    refuse(context_, "the context and a choice", "--text_column and --choice_columns");
  }
  if (question_ && is_choice(*question_)) {
    refuse(*question_, "the beginning of the choices and one of them",
           "--text_b_column and --choice_columns");
  }
  if (!label_) return;
  bool is_text = *label_ == context_ || label_ == question_;
  if (!is_text && !is_choice(*label_)) return;
  // The label's column of the training table, when this one has a text in its place.
  if (labels_ == ChoiceLabels::optional) {
    label_.reset();
  } else if (is_text) {
    refuse(*label_, "a text and the label", "--text_column, --text_b_column and --label_column");
  } else {
    refuse(*label_, "a choice and the label", "--choice_columns and --label_column");
  }
}

bool ChoiceRowReader::next(ChoiceRow& row) {
  return next_wanted(*rows_, fields_, [&] {
    take(row);
    return true;
  });
}

void ChoiceRowReader::take(ChoiceRow& row) {
  row = {};
  row.line = rows_->line_number();
  row.context = fields_.at(context_);
  if (id_) row.id = fields_.at(*id_);
  for (size_t i = 0; i < choices_.size(); ++i) {
    const std::string& choice = fields_.at(choices_[i]);
    if (strip(choice).empty()) {
      throw error("{}: choice {} ({}) is empty; every row of a file has as many choices",
                  rows_->place(), i, quote(rows_->header()[choices_[i]]));
    }
    std::string start = question_ ? fields_.at(*question_) : "";
    row.choices.push_back(start.empty() ? choice : start + " " + choice);
  }
  row.label = label();
}

int64_t ChoiceRowReader::choices() const {
  return choices_.empty() ? 2 : static_cast<int64_t>(choices_.size());
}

int64_t ChoiceRowReader::label() {
  std::string_view text = label_ ? strip(fields_.at(*label_)) : std::string_view();
  int64_t label = -1;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), label);
  if (failed == std::errc() && end == text.data() + text.size() && label >= 0 &&
      label < choices()) {
    return label;
  }
  if (labels_ != ChoiceLabels::needed) {
    unknown_ += !text.empty() && text != kKeptBack;
    return -1;
  }
  if (text.empty()) throw error("{}: the label is empty", rows_->place());
  throw error("{}: label {}: the number of the right choice, 0 to {}, expected", rows_->place(),
              quote(text), choices() - 1);
}

void ChoiceRowReader::report() const {
  report_counts(*rows_);
  report_unread_labels(*rows_, label_name_);
  if (unknown_ == 0) return;
  log_line("{}: {} rows have a label that is none of 0 to {}; it is left out", uri(), unknown_,
           choices() - 1);
}

}  // namespace bertrain
