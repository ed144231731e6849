// Numbers of classes back to their names, so that everything after is as with a table.
#include "task/table/recorded_texts.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "task/table/label_list.h"
#include "task/table/layouts.h"

namespace bertrain {
namespace {

RowLabel label_of(const RecordedReader& reader, std::string_view kind,
                  const std::vector<std::string>& names) {
  // All digits of the float, so that it is read as the same.
  if (kind == "regression") {
    return RowLabel(fmt::format("{}", static_cast<double>(reader.real("label_ids"))));
  }
  if (kind == "multilabel") {
    std::vector<std::string> there;
    const auto& marks = reader.integers_of("label_ids", names.size(), 0, 1);
    for (size_t i = 0; i < names.size(); ++i) {
      if (marks[i] != 0) there.push_back(names[i]);
    }
    return RowLabel(std::move(there));
  }
  int64_t most = std::ssize(names) - 1;
  return RowLabel(names.at(static_cast<size_t>(reader.integer("label_ids", 0, most))));
}

TextRow row_of(const RecordedReader& reader, std::string_view kind, const TextTarget& target,
               const std::vector<std::string>& names) {
  if (reader.has("is_real_example") && reader.integer("is_real_example", 0, 1) == 0) {
    reader.fail("is_real_example", "0", "1 (records that fill a batch are no rows)");
  }
  TextRow row;
  row.label = label_of(reader, kind, names);
  std::string fault = target.fault(*row.label);
  if (!fault.empty()) reader.fail("label_ids", fault, "another");
  row.id = reader.text("id");
  row.line = reader.number();
  return row;
}

// Which window of its row a record is.
struct Place {
  int64_t window = 0, windows = 1;
};

Place next_place(const RecordedReader& reader, LongText how, const Place& last) {
  bool goes_on = last.window + 1 < last.windows;
  Place place;
  if (reader.has("window")) {
    const auto& numbers = reader.integers_of("window", 2, 0, LongTextEncoder::kMostWindows);
    place = {numbers[0], numbers[1]};
  }
  Place expected = goes_on ? Place{last.window + 1, last.windows} : Place{0, place.windows};
  if (place.window != expected.window || place.windows != expected.windows || place.windows < 1) {
    reader.fail("window", fmt::format("{} of {}", place.window, place.windows),
                fmt::format("{} of {}", expected.window, expected.windows));
  }
  if (place.windows > 1 && how != LongText::windows) {
    reader.fail("window", fmt::format("one of {}", place.windows),
                "a row without windows, as --long_text says,");
  }
  return place;
}

std::string shown(const RowLabel& label) {
  return label.list ? quote_list(*label.list) : quote(label.text);
}

// Windows of one row are of one label and one name.
void require_same_row(const RecordedReader& reader, const TextRow& mine, const TextRow& last) {
  auto require = [&](const char* feature, bool is_same, const std::string& found,
                     const std::string& expected) {
    if (is_same) return;
    reader.fail(feature, found, fmt::format("{}, as of the row's window before,", expected));
  };
  require("label_ids", mine.label == last.label, shown(*mine.label), shown(*last.label));
  require("id", mine.id == last.id, quote(mine.id), quote(last.id));
}

}  // namespace

Json described_rows(const MetaData& meta) {
  Json description = meta.description;
  std::string name = meta.processor_type;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const TableLayout* layout = find_layout(name);
  if (meta.is_described || !layout || layout->kind != description["task"]) return description;
  std::vector<std::string> labels = split_list(layout->labels, ",");
  if (layout->kind == "classification" && labels.size() != description["labels"].size()) {
    return description;
  }
  description["layout"] = layout->name;
  if (!labels.empty()) description["labels"] = labels;
  return description;
}

void require_labels(const TargetOptions& options, const Json& description) {
  if (options.labels.empty() || !description.contains("labels")) return;
  std::vector<std::string> given = split_list(options.labels, ",", "labels");
  if (given == description["labels"].get<std::vector<std::string>>()) return;
  throw usage_error("--labels={}: the records have {}", options.labels,
                    Labels(description["labels"].get<std::vector<std::string>>()).list());
}

std::shared_ptr<TextData> read_recorded_texts(RecordedReader reader, const RecordedTexts& from,
                                              std::optional<uint64_t> expected) {
  Json description = Json::object();
  from.target->describe(description);
  auto names = description.value("labels", std::vector<std::string>());
  auto data = std::make_shared<TextData>(from.file, from.how);
  EncodedText text;
  TextRow row;
  Place place;
  uint64_t records = 0, tokens = 0;
  while ((from.limit == 0 || data->rows() < static_cast<uint64_t>(from.limit)) && reader.next()) {
    ++records;
    place = next_place(reader, from.how, place);
    text.inputs.push_back(reader.input());
    tokens += text.inputs.back().ids.size();
    TextRow mine = row_of(reader, from.kind, *from.target, names);
    if (place.window > 0) require_same_row(reader, mine, row);
    row = std::move(mine);
    if (place.window + 1 < place.windows) continue;
    data->add(text, std::exchange(row, {}));
    text = {};
  }
  if (!text.inputs.empty()) {
    throw error("{}: the last row has {} of {} windows", from.file, text.inputs.size(),
                place.windows);
  }
  if (from.meta && from.limit == 0) require_rows(from.file, records, expected, *from.meta);
  log_line("{}: {} rows in {} records, {:.1f} tokens each", from.file, data->rows(), records,
           static_cast<double>(tokens) / static_cast<double>(records));
  data->set_target(from.target);
  return data;
}

}  // namespace bertrain
