// JSON lines: one object a line, its keys the columns.
#include <algorithm>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/quote.h"
#include "formats/row_parser.h"

namespace bertrain {
namespace {

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class JsonlParser : public RowParser {
 public:
  JsonlParser(const RowOptions& options, RowCounts& counts) : options_(options), counts_(counts) {}

  void parse(std::string& line, TextLines& lines, std::vector<std::string>& fields) override {
    place_ = lines.place(lines.number());
    row_ = parse_object(line, place_);
    if (names_.empty()) {
      for (const auto& [key, value] : row_.items()) names_.push_back(key);
      if (names_.empty()) throw error("{}: the object has no keys", place_);
    }
    fields.clear();
    for (const std::string& name : names_) {
      auto found = row_.find(name);
      if (found == row_.end()) {
        throw error("{}: key {} is missing; the file's first object has it", place_, quote(name));
      }
      fields.push_back(text_of(*found));
    }
    const std::string& noticed = options_.noticed_key;
    if (noticed.empty() || !row_.contains(noticed)) return;
    counts_.noticed += std::find(names_.begin(), names_.end(), noticed) == names_.end();
  }

  std::vector<std::string> names() const override { return names_; }

  FieldKind kind(size_t column) const override {
    const Json& value = row_.at(names_.at(column));
    return value.is_null()     ? FieldKind::null
           : value.is_array()  ? FieldKind::list
           : value.is_object() ? FieldKind::object
                               : FieldKind::text;
  }

  std::vector<std::string> list(size_t column) const override {
    const std::string& name = names_.at(column);
    std::vector<std::string> items;
    for (const Json& item : row_.at(name)) {
      if (!item.is_string() && !item.is_number()) {
        throw error("{}: key {} holds an array with {} in it; strings are expected", place_,
                    quote(name), quote(item.dump(-1, ' ', false, Json::error_handler_t::replace)));
      }
      items.push_back(text_of(item));
    }
    return items;
  }

 private:
  static Json parse_object(const std::string& line, const std::string& place) {
    Json value = parse_json_line(line, place);
    if (!value.is_object()) {
      throw error("{}: an object {{\"column\": value, ...}} is expected, {} found", place,
                  value.type_name());
    }
    return value;
  }

  const RowOptions& options_;
  RowCounts& counts_;
  std::vector<std::string> names_;
  Json row_;           // the object last read
  std::string place_;  // where
};

}  // namespace

std::unique_ptr<RowParser> make_jsonl_parser(const RowOptions& options, RowCounts& counts) {
  return std::make_unique<JsonlParser>(options, counts);
}

}  // namespace bertrain
