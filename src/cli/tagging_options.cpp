// Options by the task that they are for.
#include "cli/tagging_options.h"

#include <utility>

#include "base/error.h"

namespace bertrain {

TaggingOptions tagging_of(const ClassificationOptions& table, const TagColumns& columns) {
  const std::pair<bool, std::string_view> of_tables[] = {
      {!table.data_dir.empty(), "data_dir"},
      {!table.text_column.empty(), "text_column"},
      {!table.text_b_column.empty(), "text_b_column"},
      {!table.label_column.empty(), "label_column"},
      {!table.id_column.empty(), "id_column"},
      {!table.format.empty(), "format"},
      {table.header.has_value(), "header"},
      {table.bad_rows != "fail", "bad_rows"},
      {!table.long_text.empty(), "long_text"},
      {table.target.label_separator != ",", "label_separator"},
      {!table.target.class_weights.empty(), "class_weights"},
      {table.target.label_smoothing != 0, "label_smoothing"},
  };
  for (const auto& [given, name] : of_tables) {
    if (!given) continue;
    throw usage_error(
        "--{} is for tables of texts; tagging reads CoNLL columns, of which --word_column and "
        "--tag_column tell the word's and the tag's",
        name);
  }
  TaggingOptions o;
  static_cast<DataOptions&>(o) = table;
  o.columns = columns;
  o.labels = table.target.labels;
  o.invalid_utf8 = table.invalid_utf8;
  o.dev_fraction = table.dev_fraction;
  o.classifier_dropout = table.classifier_dropout;
  return o;
}

void refuse_tag_columns(const TagColumns& columns, std::string_view task) {
  if (columns.word_column == 0 && columns.tag_column == 0) return;
  throw usage_error("--{} is for tagging; the task is {}",
                    columns.word_column != 0 ? "word_column" : "tag_column", task);
}

}  // namespace bertrain
