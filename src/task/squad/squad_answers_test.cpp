// Answers, lists and odds equal to the reference's from the same logits; and where it fails.
#include "task/squad/squad_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "base/error.h"
#include "base/json.h"
#include "storage/storage.h"
#include "task/squad/answer_files.h"

namespace bertrain {
namespace {

using testing::HasSubstr;

const std::string kFolder = BERTRAIN_TEST_DATA "/squad/";

std::string golden(const std::string& version, const std::string& name) {
  return read_text(kFolder + version + "-" + name);
}

SquadPredictions predictions_of(const std::string& version, const SquadFeatureOptions& lengths,
                                const SquadAnswerOptions& options) {
  Tokenizer tokenizer(Vocabulary::read(BERTRAIN_TEST_DATA "/text/vocab-uncased.txt"));
  auto data = std::make_shared<SquadData>(
      read_squad(kFolder + "squad-" + version + ".json", SquadUse::prediction));
  SquadFeatures features(data, tokenizer, lengths, false);
  std::vector<std::vector<float>> start, end;
  for (const Json& window : Json::parse(golden(version, "logits.json.gz"))) {
    EXPECT_EQ(window["unique_id"].get<int64_t>(), kFirstUniqueId + std::ssize(start));
    start.push_back(window["start_logits"].get<std::vector<float>>());
    end.push_back(window["end_logits"].get<std::vector<float>>());
  }
  EXPECT_EQ(start.size(), features.size());
  SquadAnswers answers(features, tokenizer, options);
  SquadPredictions all;
  for (uint64_t q = 0; q < data->questions.size(); ++q) {
    std::vector<SpanLogits> logits;
    for (uint64_t w = features.windows_before(q); w < features.windows_before(q + 1); ++w) {
      logits.push_back({start[w], end[w]});
    }
    all.put(data->questions[q].id, answers.answer(q, logits));
  }
  return all;
}

std::string without_probabilities(const std::string& list) {
  std::string out;
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"probability\": ") == std::string::npos) out += line + "\n";
  }
  return out;
}

// Probabilities are sums of exp(), whose last digit is the C library's: apart from those to the byte.
void compare_lists(const std::string& found, const std::string& expected) {
  EXPECT_EQ(without_probabilities(found), without_probabilities(expected));
  Json a = Json::parse(found), b = Json::parse(expected);
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [id, list] : b.items()) {
    ASSERT_EQ(a[id].size(), list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      ASSERT_NEAR(a[id][i]["probability"].get<double>(), list[i]["probability"].get<double>(),
                  1e-12);
    }
  }
}

TEST(SquadAnswers, AreTheReferencesOfVersionOne) {
  SquadPredictions all =
      predictions_of("v1", {.max_seq_length = 64, .doc_stride = 16, .max_query_length = 24}, {});
  EXPECT_EQ(predictions_json(all), golden("v1", "predictions.json"));
  compare_lists(nbest_predictions_json(all), golden("v1", "nbest_predictions.json.gz"));
}

TEST(SquadAnswers, AreTheReferencesOfVersionTwo) {
  SquadPredictions all =
      predictions_of("v2", {.max_seq_length = 96, .doc_stride = 32, .max_query_length = 16},
                     {.version_2_with_negative = true});
  EXPECT_EQ(predictions_json(all), golden("v2", "predictions.json"));
  EXPECT_EQ(null_odds_json(all), golden("v2", "null_odds.json"));
  compare_lists(nbest_predictions_json(all), golden("v2", "nbest_predictions.json.gz"));
}

TEST(SquadAnswers, TheThresholdTurnsAnswersIntoNone) {
  SquadPredictions all =
      predictions_of("v2", {.max_seq_length = 96, .doc_stride = 32, .max_query_length = 16},
                     {.version_2_with_negative = true, .null_score_diff_threshold = -10});
  for (const auto& [id, prediction] : all.items()) {
    EXPECT_EQ(prediction.text.empty(), prediction.null_odds > -10) << id;
  }
}

// One question on a context of toy words; windows as short as asked for.
struct Toy {
  Tokenizer tokenizer{Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "d", "who",
                                  "18", "##54", "(", ")", ".", "born", "euros", "5", "000"},
                                 "toy")};
  std::shared_ptr<const SquadData> data;
  SquadFeatures features;

  explicit Toy(const std::string& context, int64_t length = 32)
      : data(std::make_shared<SquadData>(parse_squad(
            Json{{"data",
                  {{{"paragraphs",
                     {{{"context", context}, {"qas", {{{"id", "q"}, {"question", "who"}}}}}}}}}}}
                .dump(),
            "x.json", SquadUse::prediction))),
        features(data, tokenizer, {length, 128, 4}, false) {}

  // Logits are 0 but for those given, of the first window.
  SquadPrediction answer(const SquadAnswerOptions& options,
                         std::vector<std::pair<size_t, float>> starts,
                         std::vector<std::pair<size_t, float>> ends) const {
    std::vector<std::vector<float>> start(features.size()), end(features.size());
    for (uint64_t w = 0; w < features.size(); ++w) {
      start[w].resize(features.feature(w).input_ids.size());
      end[w] = start[w];
    }
    for (auto [at, value] : starts) start[0][at] = value;
    for (auto [at, value] : ends) end[0][at] = value;
    std::vector<SpanLogits> logits;
    for (uint64_t w = 0; w < features.size(); ++w) logits.push_back({start[w], end[w]});
    return SquadAnswers(features, tokenizer, options).answer(0, logits);
  }
};

// S01.
TEST(SquadAnswers, ABlankContextHasNoAnswer) {
  for (const char* blank : {"", " "}) {
    Toy toy(blank);
    SquadPrediction one = toy.answer({}, {}, {});
    EXPECT_EQ(one.text, "");
    ASSERT_EQ(one.n_best.size(), 1u);
    EXPECT_EQ(one.n_best[0].probability, 1);
    SquadPrediction two = toy.answer({.version_2_with_negative = true}, {}, {});
    EXPECT_EQ(two.text, "");
    EXPECT_EQ(two.null_odds, kCertainlyNull);
    EXPECT_EQ(two.n_best.size(), 1u);
  }
}

// S02. [CLS] who [SEP] a b c [SEP]: the best start is behind the best end.
TEST(SquadAnswers, WithoutAValidPairOfTheBestPositions) {
  Toy toy("a b c");
  SquadPrediction one = toy.answer({.n_best_size = 1}, {{5, 9}}, {{3, 8}});
  EXPECT_EQ(one.text, "c");  // 9 + 0 is more than 0 + 8
  SquadPrediction two = toy.answer({.n_best_size = 1, .version_2_with_negative = true},
                                   {{5, 9}, {0, 1}}, {{3, 8}, {0, 2}});
  EXPECT_EQ(two.text, "");
  EXPECT_EQ(two.null_odds, 3);
  ASSERT_EQ(two.n_best.size(), 1u);
  EXPECT_EQ(two.n_best[0].start_logit, 1);
}

// S13.
TEST(SquadAnswers, FirstAndLastPieceCanBeAnswers) {
  Toy toy("a b c");
  EXPECT_EQ(toy.answer({}, {{3, 9}}, {{3, 9}}).text, "a");
  EXPECT_EQ(toy.answer({}, {{5, 9}}, {{5, 9}}).text, "c");
  EXPECT_EQ(toy.answer({}, {{3, 9}}, {{5, 9}}).text, "a b c");
}

// S15.
TEST(SquadAnswers, PartsOfAWordAndNarrowBlanks) {
  // [CLS] who [SEP] born ( 18 ##54 ) . [SEP]
  EXPECT_EQ(Toy("born (1854).").answer({}, {{5, 9}}, {{6, 9}}).text, "1854");
  EXPECT_EQ(Toy("5\u202f000 euros").answer({}, {{3, 9}}, {{4, 9}}).text, "5 000");
}

TEST(SquadAnswers, OfEqualLogitsTheEarlierPositionCounts) {
  Toy toy("a b c");
  SquadPrediction one = toy.answer({.n_best_size = 1}, {{4, 9}, {3, 9}}, {{5, 9}, {4, 9}});
  EXPECT_EQ(one.text, "a b");
  EXPECT_EQ(toy.answer({}, {{4, 9}, {3, 9}}, {{5, 9}, {4, 9}}).n_best[1].text, "a b c");
}

TEST(SquadAnswers, EqualAnswersStandInTheOrderOfTheirPlaces) {
  SquadPrediction one = Toy("a b c d 5 000").answer({}, {}, {});
  std::vector<std::string> texts;
  for (size_t i = 0; i < 8; ++i) texts.push_back(one.n_best.at(i).text);
  EXPECT_THAT(texts, testing::ElementsAre("a", "a b", "a b c", "a b c d", "a b c d 5",
                                          "a b c d 5 000", "b", "b c"));
  EXPECT_EQ(one.n_best.size(), 20u);
}

TEST(SquadAnswers, NoAnswerIsLongerThanAllowed) {
  Toy toy("a b c d");
  EXPECT_EQ(toy.answer({.max_answer_length = 2}, {{3, 9}}, {{6, 9}, {4, 1}}).text, "a b");
}

// The windows of "a b c d" in length 6 hold two pieces each; a span never leaves its window.
TEST(SquadAnswers, TheBestOfAllWindowsCounts) {
  Toy toy("a b c d a b", 8);
  EXPECT_EQ(toy.features.size(), 2u);
  SquadPrediction two = toy.answer({.version_2_with_negative = true}, {{3, 5}, {0, -7}}, {{3, 5}});
  EXPECT_EQ(two.text, "a");
  EXPECT_EQ(two.null_odds, -7 - 10);  // of the window that is least sure of "no answer"
}

TEST(SquadAnswers, OptionsAndLogitsAreChecked) {
  Toy toy("a b c");
  EXPECT_THROW(toy.answer({.n_best_size = 0}, {}, {}), Error);
  EXPECT_THROW(toy.answer({.max_answer_length = 0}, {}, {}), Error);
  EXPECT_THROW(toy.answer({.null_score_diff_threshold = std::nan("")}, {}, {}), Error);
  try {
    toy.answer({}, {{4, std::numeric_limits<float>::quiet_NaN()}}, {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("question 'q'"));
  }
}

}  // namespace
}  // namespace bertrain
