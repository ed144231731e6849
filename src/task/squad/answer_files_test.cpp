// Files of answers by id: order, repeated ids, damage.
#include "task/squad/answer_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace bertrain {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string message(std::string_view json) {
  try {
    parse_predictions(json, "p.json");
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(AnswerFiles, KeepTheOrderAndTheLastOfAnId) {
  AnswersById all = parse_predictions(R"({"b": "1", "a": "\u00e9", "b": "3"})", "p.json");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all.items()[0].first, "b");
  EXPECT_EQ(*all.find("b"), "3");
  EXPECT_EQ(*all.find("a"), "é");
  EXPECT_EQ(all.find("c"), nullptr);
  NullOddsById odds = parse_null_odds(R"({"b": 1, "a": -0.5})", "n.json");
  EXPECT_EQ(odds.find("b")->dump(), "1");
  EXPECT_EQ(odds.find("a")->get<double>(), -0.5);
}

TEST(AnswerFiles, MayHaveAnyNumberOfIds) {
  SquadPredictions many;
  for (int i = 0; i < 30000; ++i) many.put(std::to_string(i), SquadPrediction{"t", {}, 0});
  EXPECT_EQ(parse_predictions(predictions_json(many), "p.json").size(), 30000u);
}

TEST(AnswerFiles, EmptyOnesAreObjects) {
  EXPECT_EQ(predictions_json({}), "{}\n");
  EXPECT_EQ(nbest_predictions_json({}), "{}\n");
  EXPECT_EQ(parse_predictions("{}", "p.json").size(), 0u);
}

TEST(AnswerFiles, ErrorsNameFileAndId) {
  EXPECT_THAT(message(R"({"q": 3})"), HasSubstr("p.json: a text of question 'q' is expected, '3'"));
  EXPECT_THAT(message(R"({"q": {"a": "b"}})"), HasSubstr("question 'q' is expected, 'an object'"));
  EXPECT_THAT(message(R"({"q": [[[]]]})"), HasSubstr("'a list'"));
  EXPECT_THAT(message(R"({"q": null})"), HasSubstr("'null'"));
  EXPECT_THAT(message(R"(["q"])"), HasSubstr("by id"));
  EXPECT_THAT(message(R"("q")"), HasSubstr("by id"));
  EXPECT_THAT(message("{\"q\":\n \"a\""),
              AllOf(HasSubstr("p.json:2:5: this is not JSON: "), Not(HasSubstr("json.exception"))));
  EXPECT_EQ(message(" \n"), "p.json: this is not JSON: it is empty");
  EXPECT_THROW(parse_null_odds(R"({"q": "a"})", "n.json"), Error);
  EXPECT_THAT(message(R"({"q": 1e999})"),
              HasSubstr("p.json:1:11: this is not JSON: number overflow"));
}

}  // namespace
}  // namespace bertrain
