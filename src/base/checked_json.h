// Reading JSON that somebody else may have damaged: every access is checked, and what does not hold
// is an Error that names the file and the key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace bertrain {

// Keys of one object at most: each is searched among those before it, so that time grows with their
// square. What is written here to be read again has to stay within it.
inline constexpr size_t kMostKeys = 10'000;

// The value of a JSON text. Throws Error "PLACE:LINE:COLUMN: this is not JSON: reason" for what is
// none, is cut off, or is nested deeper than anything that is written here.
Json parse_json(std::string_view text, std::string_view place);
// The same of one line of a file, within the same bounds; `place` is "FILE:LINE".
Json parse_json_line(std::string_view line, std::string_view place);

// What the two above say, for a reader of events: `what` is the library's reason, `byte` where it
// stopped, from 1.
Error not_json(std::string_view text, std::string_view place, size_t byte, std::string_view what);

// Keys in no order and as many as there are: the vocabularies of tokenizers have a hundred thousand in
// one object. Of equal keys the last counts.
using LargeJson = nlohmann::json;
LargeJson parse_large_json(std::string_view text, std::string_view place);

// One value of a parsed file with its place. Errors read "run.json: chosen.threads is "x"; a whole
// number from 1 to 4096 expected". The Json must outlive it.
class JsonValue {
 public:
  // `file` is where the value is from, `key` its name there; empty: the whole file.
  JsonValue(const Json& json, std::string file, std::string key = "");

  const Json& json() const { return json_; }
  bool is_null() const { return json_.is_null(); }
  void require_object() const;
  JsonValue at(std::string_view key) const;                   // missing: an Error
  std::optional<JsonValue> find(std::string_view key) const;  // nullopt: not there
  std::vector<JsonValue> items() const;                       // of a list; keys are "name.0"

  int64_t integer(int64_t least, int64_t most) const;
  double number() const;
  bool truth() const;
  const std::string& text() const;
  std::vector<std::string> texts() const;  // of a list of strings

  // "a whole number" as what was expected instead of what is there.
  [[noreturn]] void fail(std::string_view expected) const;

 private:
  std::string inner(std::string_view key) const;

  const Json& json_;
  std::string file_, key_;
};

}  // namespace bertrain
