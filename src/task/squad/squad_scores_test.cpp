// Scores: to the byte what tests/peers/squad_scores.py printed of its made-up questions, and the corners
// one by one.
#include "task/squad/squad_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/log.h"
#include "storage/storage.h"
#include "task/squad/python_json.h"

namespace bertrain {
namespace {

using testing::HasSubstr;

const std::string kFolder = BERTRAIN_TEST_DATA "/squad/scored-";

std::string expected(const std::string& name) { return read_text(kFolder + name + ".txt"); }

// Questions q0, q1, … with these answers.
SquadData data_of(const std::vector<std::vector<std::string>>& answers) {
  SquadData data;
  data.name = "x.json";
  data.contexts.emplace_back("x");
  for (const auto& texts : answers) {
    SquadQuestion question;
    question.id = "q" + std::to_string(data.questions.size());
    for (const std::string& text : texts) question.answers.push_back({text, -1});
    data.questions.push_back(std::move(question));
  }
  return data;
}

AnswersById predictions_of(const std::vector<std::string>& texts) {
  AnswersById all;
  for (const std::string& text : texts) all.put("q" + std::to_string(all.size()), text);
  return all;
}

TEST(SquadScores, VersionOneIsTheScripts) {
  std::string said;
  LogSink sink([&](std::string_view line) { said += line; });
  SquadData data = read_squad(kFolder + "v1.json", SquadUse::scoring);
  Json scores = score_squad_v1(data, read_predictions(kFolder + "v1-predictions.json"));
  EXPECT_EQ(python_json(scores) + "\n", expected("v1-plain"));
  EXPECT_THAT(said, HasSubstr("5 of 300 questions have no prediction and score 0: 'q0', 'q60'"));
}

TEST(SquadScores, VersionTwoIsTheScripts) {
  SquadData data = read_squad(kFolder + "v2.json", SquadUse::scoring);
  AnswersById predictions = read_predictions(kFolder + "v2-predictions.json");
  NullOddsById odds = read_null_odds(kFolder + "v2-null_odds.json");
  auto text = [&](const SquadV2Options& options) {
    return python_json(score_squad_v2(data, predictions, options), 2) + "\n";
  };
  EXPECT_EQ(text({}), expected("v2-plain"));
  EXPECT_EQ(text({.null_odds = &odds}), expected("v2-odds"));
  EXPECT_EQ(text({.null_odds = &odds, .na_prob_thresh = -1.5}), expected("v2-threshold"));
}

// S11.
TEST(SquadScores, AnArticleAloneMatchesButSharesNothing) {
  Json one = score_squad_v1(data_of({{"the"}}), predictions_of({"the"}));
  EXPECT_EQ(python_json(one), R"({"exact_match": 100.0, "f1": 0.0})");
}

TEST(SquadScores, NoAnswerToAnImpossibleQuestionIsRight) {
  Json two = score_squad_v2(data_of({{}}), predictions_of({""}));
  EXPECT_EQ(python_json(two),
            R"({"exact": 100.0, "f1": 100.0, "total": 1, "NoAns_exact": 100.0, "NoAns_f1": 100.0, )"
            R"("NoAns_total": 1})");
  two = score_squad_v2(data_of({{}}), predictions_of({"the"}));  // nothing is left of it
  EXPECT_EQ(two["exact"], 100.0);
  EXPECT_EQ(score_squad_v2(data_of({{}}), predictions_of({"wall"}))["f1"], 0.0);
  EXPECT_EQ(score_squad_v2(data_of({{"wall"}}), predictions_of({""}))["HasAns_f1"], 0.0);
}

TEST(SquadScores, AMissingPredictionScoresZeroAndIsSaid) {
  std::string said;
  LogSink sink([&](std::string_view line) { said += line; });
  SquadData data = data_of({{"wall"}, {"gate"}});
  Json two = score_squad_v2(data, predictions_of({"wall"}));
  EXPECT_EQ(two["exact"], 50.0);
  EXPECT_EQ(two["total"], 2);
  EXPECT_THAT(said, HasSubstr("x.json: 1 of 2 questions have no prediction and score 0: 'q1'"));
  EXPECT_EQ(score_squad_v2(data_of({{}, {}}), predictions_of({""}))["NoAns_exact"], 50.0);
  said.clear();
  score_squad_v1(data_of({{"wall"}}), predictions_of({"wall", "gate"}));
  EXPECT_THAT(said, HasSubstr("1 of 2 predictions are of no question of x.json"));
}

TEST(SquadScores, VersionOneNeedsAnswers) {
  try {
    score_squad_v1(data_of({{"wall"}, {}}), predictions_of({"wall", ""}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("x.json: question 'q1' has no answer"));
  }
}

TEST(SquadScores, EveryPredictionNeedsItsOdds) {
  NullOddsById odds;
  odds.put("q0", 0.5);
  SquadData data = data_of({{"wall"}, {}});
  EXPECT_THROW(score_squad_v2(data, predictions_of({"wall", ""}), {.null_odds = &odds}), Error);
  odds.put("q1", 2);
  odds.put("strange", 3);
  Json two = score_squad_v2(data, predictions_of({"wall", ""}), {.null_odds = &odds});
  EXPECT_EQ(two["best_exact"], 100.0);
  EXPECT_EQ(two["best_exact_thresh"], 0.5);
}

TEST(SquadScores, ChineseIsScoredByTheCharacter) {
  Json scores =
      score_squad_v1(data_of({{"北京大学"}, {"北京大学"}, {"The wall"}}),
                     predictions_of({"北京大学。", "京大", "wall"}), ScoreUnit::character);
  EXPECT_DOUBLE_EQ(scores["exact_match"].get<double>(), 100.0 / 3);
  EXPECT_DOUBLE_EQ(scores["f1"].get<double>(), 100.0 * (1 + 2.0 / 3 + 2.0 / 3) / 3);
  // Only what stands together counts: one character of 京北.
  scores = score_squad_v1(data_of({{"北京"}}), predictions_of({"京北"}), ScoreUnit::character);
  EXPECT_EQ(scores["f1"], 50.0);
  scores = score_squad_v2(data_of({{}}), predictions_of({"。"}), {.unit = ScoreUnit::character});
  EXPECT_EQ(scores["f1"], 100.0);
}

}  // namespace
}  // namespace bertrain
