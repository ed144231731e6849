// Parsing with a place, and values that say what was expected of them.
#include "base/checked_json.h"

#include <algorithm>

#include "base/error.h"

namespace bertrain {
namespace {

// Beyond what any program here or of the formats' authors writes; what recurses over values (dump,
// compare) stays far from the end of the stack.
constexpr int kMostNesting = 100;

// "12:7" of the byte at which the parser stopped, both from 1.
std::string line_and_column(std::string_view text, size_t byte) {
  std::string_view before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
  size_t line = static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  size_t start = before.rfind('\n');
  size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return fmt::format("{}:{}", line, column);
}

// The library's sentence without its own number and place in front, cut where it quotes much.
std::string reason_of(std::string_view what) {
  constexpr size_t kShown = 160;
  for (std::string_view mark : {"] ", ": "}) {
    size_t at = what.find(mark);
    if (at != std::string_view::npos) what.remove_prefix(at + mark.size());
  }
  return std::string(what.substr(0, kShown)) + (what.size() > kShown ? "…" : "");
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// `place_of` makes the place in front of an error at the byte where the parser stopped.
template <class AnyJson, class PlaceOf>
AnyJson parse_bounded(std::string_view text, std::string_view place, size_t most_keys,
                      const PlaceOf& place_of) {
  if (is_blank(text)) throw error("{}: this is not JSON: it is empty", place);
  std::vector<size_t> keys(kMostNesting + 2);  // of the objects that are open, by depth
  using Event = typename AnyJson::parse_event_t;
  auto bounded = [&](int depth, Event event, AnyJson&) {
    if (depth > kMostNesting) throw error("{}: nested deeper than {} levels", place, kMostNesting);
    auto at = static_cast<size_t>(depth);
    if (event == Event::object_start) keys[at + 1] = 0;
    if (event == Event::key && ++keys[at] > most_keys) {
      throw error("{}: an object of more than {} keys", place, most_keys);
    }
    return true;
  };
  try {
    return AnyJson::parse(text, bounded);
  } catch (const typename AnyJson::parse_error& e) {
    throw error("{}: this is not JSON: {}", place_of(e.byte), reason_of(e.what()));
  } catch (const typename AnyJson::exception& e) {  // a number beyond any double
    throw error("{}: this is not JSON: {}", place, reason_of(e.what()));
  }
}

}  // namespace

Error not_json(std::string_view text, std::string_view place, size_t byte, std::string_view what) {
  if (is_blank(text)) return error("{}: this is not JSON: it is empty", place);
  return error("{}:{}: this is not JSON: {}", place, line_and_column(text, byte), reason_of(what));
}

Json parse_json(std::string_view text, std::string_view place) {
  return parse_bounded<Json>(text, place, kMostKeys, [&](size_t byte) {
    return fmt::format("{}:{}", place, line_and_column(text, byte));
  });
}

Json parse_json_line(std::string_view line, std::string_view place) {
  return parse_bounded<Json>(line, place, kMostKeys,
                             [&](size_t byte) { return fmt::format("{}:{}", place, byte); });
}

LargeJson parse_large_json(std::string_view text, std::string_view place) {
  return parse_bounded<LargeJson>(text, place, text.size(), [&](size_t byte) {
    return fmt::format("{}:{}", place, line_and_column(text, byte));
  });
}

JsonValue::JsonValue(const Json& json, std::string file, std::string key)
    : json_(json), file_(std::move(file)), key_(std::move(key)) {}

std::string JsonValue::inner(std::string_view key) const {
  return key_.empty() ? std::string(key) : fmt::format("{}.{}", key_, key);
}

void JsonValue::fail(std::string_view expected) const {
  constexpr size_t kShown = 60;
  std::string shown = json_.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (shown.size() > kShown) shown = shown.substr(0, kShown) + "…";
  throw error("{}: {} is {}; {} expected", file_, key_.empty() ? "the content" : key_, shown,
              expected);
}

void JsonValue::require_object() const {
  if (!json_.is_object()) fail("a JSON object");
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  require_object();
  auto found = json_.find(key);
  if (found == json_.end()) return std::nullopt;
  return JsonValue(*found, file_, inner(key));
}

JsonValue JsonValue::at(std::string_view key) const {
  if (std::optional<JsonValue> found = find(key)) return *found;
  throw error("{}: {} is missing", file_, inner(key));
}

std::vector<JsonValue> JsonValue::items() const {
  if (!json_.is_array()) fail("a list");
  std::vector<JsonValue> all;
  for (const Json& one : json_) all.emplace_back(one, file_, inner(std::to_string(all.size())));
  return all;
}

int64_t JsonValue::integer(int64_t least, int64_t most) const {
  bool fits = json_.is_number_integer() &&
              !(json_.is_number_unsigned() && json_.get<uint64_t>() > uint64_t{INT64_MAX});
  if (!fits || json_.get<int64_t>() < least || json_.get<int64_t>() > most) {
    fail(fmt::format("a whole number from {} to {}", least, most));
  }
  return json_.get<int64_t>();
}

double JsonValue::number() const {
  if (!json_.is_number()) fail("a number");
  return json_.get<double>();
}

bool JsonValue::truth() const {
  if (!json_.is_boolean()) fail("true or false");
  return json_.get<bool>();
}

const std::string& JsonValue::text() const {
  if (!json_.is_string()) fail("a text");
  return json_.get_ref<const std::string&>();
}

std::vector<std::string> JsonValue::texts() const {
  std::vector<std::string> all;
  for (const JsonValue& one : items()) all.push_back(one.text());
  return all;
}

}  // namespace bertrain
