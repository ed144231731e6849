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
    std::string place = lines.place(lines.number());
    Json object = parse_object(line, place);
    if (names_.empty()) {
      for (const auto& [key, value] : object.items()) names_.push_back(key);
      if (names_.empty()) throw error("{}: the object has no keys", place);
    }
    fields.clear();
    for (const std::string& name : names_) {
      auto found = object.find(name);
      if (found == object.end()) {
        throw error("{}: key {} is missing; the file's first object has it", place, quote(name));
      }
      fields.push_back(text_of(*found));
    }
    const std::string& noticed = options_.noticed_key;
    if (noticed.empty() || !object.contains(noticed)) return;
    counts_.noticed += std::find(names_.begin(), names_.end(), noticed) == names_.end();
  }

  std::vector<std::string> names() const override { return names_; }

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
};

}  // namespace

std::unique_ptr<RowParser> make_jsonl_parser(const RowOptions& options, RowCounts& counts) {
  return std::make_unique<JsonlParser>(options, counts);
}

}  // namespace bertrain
