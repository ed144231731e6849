// JSON lines: one object a line, its keys the columns.
#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/quote.h"
#include "formats/row_parser.h"

namespace bertrain {
namespace {

constexpr int kMaxDepth = 64;  // writing a value back is recursive
// An object that keeps its order is searched from the start for each of its keys, so that its time
// grows with the square of their number.
constexpr size_t kMaxKeys = 1000;

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class JsonlParser : public RowParser {
 public:
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
  }

  std::vector<std::string> names() const override { return names_; }

 private:
  static Json parse_object(const std::string& line, const std::string& place) {
    std::vector<size_t> keys;  // of the objects that are open, by depth
    auto bounded = [&](int depth, Json::parse_event_t event, Json&) {
      if (depth > kMaxDepth) throw error("{}: nested more than {} deep", place, kMaxDepth);
      auto at = static_cast<size_t>(depth);
      if (event == Json::parse_event_t::object_start) {
        keys.resize(std::max(keys.size(), at + 2));
        keys[at + 1] = 0;
      } else if (event == Json::parse_event_t::key && ++keys[at] > kMaxKeys) {
        throw error("{}: an object of more than {} keys", place, kMaxKeys);
      }
      return true;
    };
    Json value;
    try {
      value = Json::parse(line, bounded);
    } catch (const Json::exception& e) {
      std::string_view what = e.what();
      what.remove_prefix(std::min(what.find("] ") + 2, what.size()));  // the library's error number
      throw error("{}: not a JSON object: {}", place, what);
    }
    if (!value.is_object()) {
      throw error("{}: an object {{\"column\": value, ...}} is expected, {} found", place,
                  value.type_name());
    }
    return value;
  }

  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<RowParser> make_jsonl_parser() { return std::make_unique<JsonlParser>(); }

}  // namespace bertrain
