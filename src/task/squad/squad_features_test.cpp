// Windows: equal to the reference's in every field, and the corners of lengths and strides.
#include "task/squad/squad_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "storage/storage.h"
#include "text/byte_bpe.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kFolder = BERTRAIN_TEST_DATA "/squad/";

Tokenizer uncased() {
  return Tokenizer(Vocabulary::read(BERTRAIN_TEST_DATA "/text/vocab-uncased.txt"));
}

Tokenizer toy() {
  return Tokenizer(Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d",
                               "who", "?", "18", "##54", "(", ")", ".", "born"},
                              "toy"));
}

// A file of one context with questions of (text, answer, start); start -1: impossible.
std::shared_ptr<const SquadData> data_of(
    const std::string& context,
    const std::vector<std::tuple<std::string, std::string, int>>& questions) {
  Json qas = Json::array();
  for (const auto& [text, answer, start] : questions) {
    Json q = {{"id", std::to_string(qas.size())}, {"question", text}, {"answers", Json::array()}};
    if (start >= 0) q["answers"].push_back({{"text", answer}, {"answer_start", start}});
    qas.push_back(q);
  }
  Json file = {{"data", {{{"paragraphs", {{{"context", context}, {"qas", qas}}}}}}}};
  return std::make_shared<SquadData>(parse_squad(file.dump(), "x.json", SquadUse::training));
}

std::string repeated(const std::string& word, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += word + " ";
  return text;
}

// Every field of what the reference made of the same file.
void compare_with_reference(const std::string& version, const SquadFeatureOptions& options) {
  Tokenizer tokenizer = uncased();
  auto data = std::make_shared<SquadData>(
      read_squad(kFolder + "squad-" + version + ".json", SquadUse::training));
  SquadFeatures training(data, tokenizer, options, true),
      predicting(data, tokenizer, options, false);
  auto lines = read_lines(kFolder + version + "-features-train.jsonl.gz");
  uint64_t count = 0;
  for (std::string line; lines->next(line); ++count) {
    SCOPED_TRACE(version + " window " + std::to_string(count));
    ASSERT_LT(count, training.size());
    Json expected = Json::parse(line);
    SquadFeature feature = training.feature(count);
    PaddedSquadFeature padded = pad(feature, options.max_seq_length);
    std::vector<std::string> tokens;
    for (int32_t id : feature.input_ids) tokens.push_back(tokenizer.vocabulary().token(id));
    Json word = Json::object(), best = Json::object();
    for (size_t i = 0; i < feature.word.size(); ++i) {
      word[std::to_string(feature.first + i)] = feature.word[i];
      best[std::to_string(feature.first + i)] = feature.is_max_context[i] != 0;
    }
    Json found = {{"unique_id", feature.unique_id},
                  {"example_index", feature.question},
                  {"doc_span_index", feature.window},
                  {"tokens", tokens},
                  {"token_to_orig_map", word},
                  {"token_is_max_context", best},
                  {"input_ids", padded.input_ids},
                  {"input_mask", padded.input_mask},
                  {"segment_ids", padded.segment_ids},
                  {"start_position", feature.start_position},
                  {"end_position", feature.end_position},
                  {"is_impossible", feature.is_impossible}};
    ASSERT_EQ(found, expected);
    SquadFeature again = predicting.feature(count);
    ASSERT_EQ(again.input_ids, feature.input_ids);
    ASSERT_EQ(again.start_position, 0);
    ASSERT_EQ(again.end_position, 0);
  }
  EXPECT_EQ(count, training.size());
  EXPECT_GT(count, 50u);
}

TEST(SquadFeatures, AreTheReferencesOfVersionOne) {
  compare_with_reference("v1", {.max_seq_length = 64, .doc_stride = 16, .max_query_length = 24});
}

TEST(SquadFeatures, AreTheReferencesOfVersionTwo) {
  compare_with_reference("v2", {.max_seq_length = 96, .doc_stride = 32, .max_query_length = 16});
}

// S05.
TEST(SquadFeatures, OneTokenOfRoomMakesAWindowAPiece) {
  auto data = data_of(repeated("a", 12), {{repeated("who", 12), "a", 0}});
  SquadFeatures features(data, toy(), {16, 128, 12}, true);
  EXPECT_EQ(features.size(), 12u);
  for (uint64_t i = 0; i < features.size(); ++i) {
    EXPECT_EQ(features.feature(i).input_ids.size(), 16u);
    EXPECT_EQ(features.feature(i).start_position, i == 0 ? 14 : 0);
  }
}

TEST(SquadFeatures, ALengthWithoutRoomForAContextIsRefused) {
  auto data = data_of("a", {{repeated("who", 13), "a", 0}});
  try {
    SquadFeatures(data, toy(), {16, 128, 13}, true);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
    EXPECT_THAT(e.what(), HasSubstr("more than 16 is needed"));
  }
  EXPECT_THROW(SquadFeatures(data, toy(), {16, 0, 4}, true), Error);
  EXPECT_THROW(SquadFeatures(data, toy(), {16, 8, 0}, true), Error);
  EXPECT_THROW(SquadFeatures(data, toy(), {INT64_MIN, 8, INT64_MAX}, true), Error);
}

TEST(SquadFeatures, ALongQuestionIsCutAndCounted) {
  auto data = data_of("a", {{repeated("who", 13), "a", 0}, {"who", "a", 0}});
  SquadFeatures features(data, toy(), {16, 128, 12}, true);
  EXPECT_EQ(features.cut_questions, 1u);
  EXPECT_EQ(features.feature(0).first, 14u);
}

// S06.
TEST(SquadFeatures, AStrideBeyondTheWindowSkipsNothing) {
  auto data = data_of(repeated("a", 40), {{"who ?", "a", 0}});
  SquadFeatures features(data, toy(), {16, 128, 8}, true);
  ASSERT_EQ(features.size(), 4u);
  std::vector<size_t> lengths;
  for (uint64_t i = 0; i < 4; ++i) lengths.push_back(features.feature(i).word.size());
  EXPECT_THAT(lengths, ElementsAre(11, 11, 11, 7));
  EXPECT_EQ(features.feature(3).word.front(), 33u);
}

// S07.
TEST(SquadFeatures, AStrideOneBelowTheLengthWorks) {
  auto data = data_of(repeated("a", 1200), {{"who ?", "a", 0}});
  SquadFeatures features(data, toy(), {512, 511, 64}, true);
  EXPECT_EQ(features.size(), 3u);
}

// The reference's loop, against the arithmetic.
TEST(SquadFeatures, WindowsAreThoseOfTheLoopForAnyStride) {
  Tokenizer tokenizer = toy();
  for (int pieces = 0; pieces <= 14; ++pieces) {
    for (int stride = 1; stride <= 9; ++stride) {
      SquadFeatures features(data_of(repeated("a", pieces), {{"who", "", -1}}), tokenizer,
                             {9, stride, 4}, true);
      std::vector<std::pair<int, int>> spans;
      const int room = 9 - 3 - 1;
      for (int start = 0; start < pieces;) {
        int length = std::min(pieces - start, room);
        spans.emplace_back(start, length);
        if (start + length == pieces) break;
        start += std::min(length, stride);
      }
      ASSERT_EQ(features.size(), spans.size());
      std::vector<int> shown(static_cast<size_t>(pieces));  // as max context
      for (size_t k = 0; k < spans.size(); ++k) {
        SquadFeature feature = features.feature(k);
        ASSERT_EQ(feature.word.size(), static_cast<size_t>(spans[k].second));
        ASSERT_EQ(feature.word.front(), static_cast<uint32_t>(spans[k].first));
        for (size_t i = 0; i < feature.word.size(); ++i) {
          shown[feature.word[i]] += feature.is_max_context[i];
        }
      }
      for (int times : shown) ASSERT_EQ(times, 1);
    }
  }
}

// A long window counts for a hundredth of its length: the short last one loses pieces that it shows with
// a little more around them.
TEST(SquadFeatures, ALongWindowShowsMoreContext) {
  auto data = data_of(repeated("a", 400), {{"who", "", -1}});
  SquadFeatures features(data, toy(), {304, 250, 4}, true);  // windows of 300 and 150
  ASSERT_EQ(features.size(), 2u);
  SquadFeature first = features.feature(0), last = features.feature(1);
  for (int piece = 250; piece < 300; ++piece) {
    double a = (299 - piece) + 0.01 * 300, b = (piece - 250) + 0.01 * 150;
    EXPECT_EQ(first.is_max_context[static_cast<size_t>(piece)], a >= b) << piece;
    EXPECT_EQ(last.is_max_context[static_cast<size_t>(piece - 250)], a < b) << piece;
  }
  EXPECT_TRUE(first.is_max_context[275]);  // 24 + 3 against 25 + 1.5
}

// S15.
TEST(SquadFeatures, AnAnswerInsideAWordShrinksToItsPieces) {
  auto data = data_of("born (1854).", {{"who", "1854", 6}});
  SquadFeature feature = SquadFeatures(data, toy(), {16, 8, 4}, true).feature(0);
  // [CLS] who [SEP] born ( 18 ##54 ) . [SEP]
  EXPECT_EQ(feature.start_position, 5);
  EXPECT_EQ(feature.end_position, 6);
}

// S13.
TEST(SquadFeatures, FirstAndLastPieceAreNotTheNoAnswer) {
  auto data = data_of("a b c", {{"who", "a", 0}, {"who", "c", 4}, {"who", "", -1}});
  SquadFeatures features(data, toy(), {16, 8, 4}, true);
  EXPECT_EQ(features.feature(0).start_position, 3);
  EXPECT_EQ(features.feature(1).end_position, 5);
  EXPECT_EQ(features.feature(2).start_position, 0);
  EXPECT_TRUE(features.feature(2).is_impossible);
}

TEST(SquadFeatures, BlankContextsHaveNoWindows) {
  for (std::string blank : {"", " ", "\u200b"}) {
    SquadFeatures features(data_of(blank, {{"who", "", -1}}), toy(), {16, 8, 4}, false);
    EXPECT_EQ(features.size(), 0u);
    EXPECT_EQ(features.without_windows, 1u);
    EXPECT_EQ(features.windows_before(1), 0u);
  }
}

TEST(SquadFeatures, AnswersThatNoWindowHoldsAreCounted) {
  auto data = data_of("a b c d a b c d", {{"who", "b c d a b", 2}, {"who", "d a", 6}});
  SquadFeatures features(data, toy(), {8, 4, 4}, true);  // windows of 4
  EXPECT_EQ(features.split_answers, 2u);
  EXPECT_EQ(SquadFeatures(data, toy(), {8, 2, 4}, true).split_answers, 1u);
  std::string said;
  LogSink sink([&](std::string_view line) { said += line; });
  features.report();
  EXPECT_THAT(said, HasSubstr("2 answers are whole in no window"));
}

TEST(SquadFeatures, AnAnswerWithoutPiecesIsLeftOutAndCounted) {
  auto data = data_of("a \u200b b", {{"who", "\u200b", 2}, {"who", "b", 4}});
  SquadFeatures features(data, toy(), {16, 8, 4}, true);
  EXPECT_EQ(features.vanished_answers, 1u);
  ASSERT_EQ(features.size(), 1u);
  EXPECT_EQ(features.feature(0).question, 1u);
}

}  // namespace
}  // namespace bertrain
