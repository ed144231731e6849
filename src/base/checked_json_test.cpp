// What damaged JSON is answered with: the file, the key or the line, and what was expected.
#include "base/checked_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error_message.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ParseJson, SaysWhereItBreaks) {
  EXPECT_EQ(parse_json("{\"a\": [1]}", "f")["a"][0], Json(1));
  EXPECT_THAT(message_of([] { parse_json("{\"a\": 1,\n  \"b\": x}", "f.json"); }),
              StartsWith("f.json:2:8: this is not JSON: "));
  EXPECT_THAT(message_of([] { parse_json("{\"a\": 1", "f.json"); }),
              StartsWith("f.json:1:8: this is not JSON: "));
  EXPECT_THAT(message_of([] { parse_json(" \n", "f.json"); }), HasSubstr("it is empty"));
  EXPECT_THAT(message_of([] { parse_json("[1e999]", "f.json"); }), HasSubstr("f.json"));
  EXPECT_THAT(message_of([] { parse_json("\"\xff\"", "f.json"); }), HasSubstr("f.json:1:"));
  EXPECT_THAT(message_of([] { parse_json(std::string(100000, '['), "f.json"); }),
              HasSubstr("f.json: nested deeper"));
}

TEST(JsonValue, GivesWhatIsThere) {
  Json json = {{"n", 3}, {"t", "x"}, {"b", true}, {"l", {"p", "q"}}, {"d", 0.5}};
  JsonValue value(json, "f.json");
  EXPECT_EQ(value.at("n").integer(0, 5), 3);
  EXPECT_EQ(value.at("t").text(), "x");
  EXPECT_TRUE(value.at("b").truth());
  EXPECT_EQ(value.at("d").number(), 0.5);
  EXPECT_THAT(value.at("l").texts(), ElementsAre("p", "q"));
  EXPECT_FALSE(value.find("none"));
}

TEST(JsonValue, EveryOtherKindIsAnErrorWithFileAndKey) {
  for (const char* text : {"null", "true", "-1", "18446744073709551615", "1.5", "\"x\"", "[]",
                           "[[]]", "{}", "{\"a\":{\"b\":null}}"}) {
    Json json = {{"a", parse_json(text, "t")}};
    JsonValue a = JsonValue(json, "f.json").at("a");
    EXPECT_THAT(message_of([&] { a.integer(0, 9); }),
                HasSubstr("f.json: a is " + json["a"].dump() + "; a whole number from 0 to 9"));
    EXPECT_THAT(message_of([&] { a.at("b").text(); }), StartsWith("f.json: a"));
    if (!json["a"].empty() || !json["a"].is_array()) {
      EXPECT_THAT(message_of([&] { a.texts(); }), StartsWith("f.json: a")) << text;
    }
  }
  Json json = {{"a", {{"b", {1, "x"}}}}};
  JsonValue value(json, "f.json");
  EXPECT_THAT(message_of([&] { value.at("a").at("b").texts(); }),
              HasSubstr("f.json: a.b.0 is 1; a text expected"));
  EXPECT_THAT(message_of([&] { value.at("a").at("c"); }), HasSubstr("f.json: a.c is missing"));
  EXPECT_THAT(message_of([&] { value.integer(0, 1); }), HasSubstr("f.json: the content is {"));
}

TEST(CheckedJson, ALineOfAFileHasItsPlace) {
  EXPECT_EQ(parse_json_line("{\"a\": 1}", "f:7"), Json({{"a", 1}}));
  EXPECT_THAT(message_of([] { parse_json_line("{\"a\": }", "f:7"); }),
              StartsWith("f:7:7: this is not JSON: "));
}

TEST(CheckedJson, ObjectsOfVeryManyKeysAreRefused) {
  auto object = [](int count) {
    std::string text = "{\"x\": {\"k0\": 0";
    for (int i = 1; i < count; ++i) text += fmt::format(", \"k{}\": {}", i, i);
    return text + "}, \"y\": {\"a\": 1}}";
  };
  EXPECT_EQ(parse_json(object(3000), "f")["x"].size(), 3000u);
  EXPECT_EQ(message_of([&] { parse_json(object(11'000), "f"); }),
            "f: an object of more than 10000 keys");
}

}  // namespace
}  // namespace bertrain
