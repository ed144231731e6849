// Options first, then the layout, then the description.
#include "task/table/table_source.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "storage/storage.h"
#include "task/table/long_text.h"
#include "task/table/table_options.h"

namespace bertrain {

TableSource::TableSource(ClassificationOptions options) : options_(std::move(options)) {
  use_layout(options_.layout);
}

void TableSource::use_layout(const std::string& name) {
  if (name.empty()) return;
  layout_ = find_layout(name);
  check(layout_ != nullptr, "a layout that there is");
  if (options_.trained_format.empty()) options_.trained_format = layout_->format;
  if (options_.data_dir.empty()) return;
  const std::string& train = layout_->file("train").name;
  if (!exists(join_path(options_.data_dir, train))) {
    std::string below =
        layout_->folder.empty() ? "" : join_path(options_.data_dir, layout_->folder);
    bool is_above = !below.empty() && exists(join_path(below, train));
    throw usage_error("--data_dir={}: {} is not there, which {} has{}", options_.data_dir, train,
                      name, is_above ? "; it is in the folder below: --data_dir=" + below : "");
  }
  if (options_.train_file.empty()) {
    options_.train_file = join_path(options_.data_dir, train);
    require_layout(*layout_, layout_->file("train"), options_.train_file);
  }
}

void TableSource::take(const JsonValue& description, int64_t positions) {
  if (std::optional<JsonValue> found = description.find("layout")) {
    if (!find_layout(found->text())) found->fail("the name of a benchmark's tables");
    if (!layout_) use_layout(found->text());
  }
  auto fill = [&](std::string& option, const char* key) {
    if (!option.empty()) return;
    if (std::optional<JsonValue> found = description.find(key)) option = found->text();
  };
  fill(options_.text_column, "text_column");
  fill(options_.text_b_column, "text_b_column");
  fill(options_.label_column, "label_column");
  fill(options_.id_column, "id_column");
  if (std::optional<JsonValue> found = description.find("header"); found && !options_.header) {
    options_.header = found->truth();
  }
  if (std::optional<JsonValue> found = description.find("format");
      found && !found->text().empty()) {
    if (!is_row_format(found->text())) found->fail("tsv, csv or jsonl");
    options_.trained_format = found->text();
  }
  if (auto found = description.find("long_text"); found && options_.long_text.empty()) {
    options_.long_text = found->text();
    if (!find_long_text(options_.long_text)) found->fail("head, head_tail or windows");
  }
  // The distance of windows is no option of another way.
  if (auto stride = description.find("doc_stride");
      stride && options_.doc_stride == 0 && options_.long_text == name_of(LongText::windows)) {
    options_.doc_stride = stride->integer(1, kMostStride);
  }
  if (options_.max_seq_length > 0) return;
  if (std::optional<JsonValue> found = description.find("max_seq_length")) {
    options_.max_seq_length = found->integer(1, positions);
  }
}

TextColumns TableSource::columns(std::string_view split) const {
  TextColumns columns;
  columns.text = "text";
  columns.label = "label";
  if (layout_) columns = layout_->file(split).columns;
  auto given = [](const std::string& option, std::string& column) {
    if (!option.empty()) column = option;
  };
  given(options_.text_column, columns.text);
  given(options_.text_b_column, columns.text_b);
  given(options_.label_column, columns.label);
  given(options_.id_column, columns.id);
  return columns;
}

bool TableSource::has_header(std::string_view split) const {
  return options_.header.value_or(layout_ ? layout_->file(split).header : true);
}

bool TableSource::has_dev() const {
  return !options_.dev_file.empty() || (layout_ && !options_.data_dir.empty());
}

std::vector<TableSource::Table> TableSource::dev_tables() const {
  if (!has_dev()) return {};
  if (!options_.dev_file.empty()) return {{"dev", options_.dev_file}};
  std::vector<Table> tables;
  for (const TableLayout::File& file : layout_->files) {
    if (!file.split.starts_with("dev")) continue;
    std::string path = join_path(options_.data_dir, file.name);
    require_layout(*layout_, file, path);
    tables.push_back({file.split, std::move(path)});
  }
  return tables;
}

void TableSource::describe(Json& description) const {
  if (layout_) {
    description["layout"] = layout_->name;  // which tells the columns of each of its files
  } else {
    TextColumns train = columns("train");
    description.update({{"text_column", train.text},
                        {"text_b_column", train.text_b},
                        {"label_column", train.label},
                        {"id_column", train.id},
                        {"header", options_.header.value_or(true)}});
  }
  description["format"] = options_.format.empty() ? options_.trained_format : options_.format;
}

std::vector<std::string> table_files(const ClassificationOptions& o) {
  std::vector<std::string> files = {o.train_file, o.dev_file, o.input_meta_data_path};
  const TableLayout* layout = o.data_dir.empty() ? nullptr : find_layout(o.layout);
  for (const TableLayout::File& file : layout ? layout->files : std::vector<TableLayout::File>()) {
    std::string path = join_path(o.data_dir, file.name);
    if (file.split == "train" && o.train_file.empty()) files.push_back(path);
    if (file.split.starts_with("dev") && o.dev_file.empty()) files.push_back(path);
  }
  std::erase(files, "");
  return files;
}

}  // namespace bertrain
