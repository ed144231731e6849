// Normalized answers: Python's lower(), \b and split(), and Chinese by the character.
#include "task/squad/answer_overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bertrain {
namespace {

using testing::ElementsAre;

TEST(AnswerOverlap, WordsAreNormalizedAsPythonDoes) {
  auto text = [](std::string_view answer) {
    return normalize_answer(answer, ScoreUnit::word).text;
  };
  EXPECT_EQ(text(" The  North-Wall, a\u00a0gate!"), "northwall gate");
  EXPECT_EQ(text("the—wall"), "—wall");
  EXPECT_EQ(text("theory an1 a_b"), "theory an1 ab");
  EXPECT_EQ(text("a\u0301"), "\u0301");  // a mark is no letter to \b
  EXPECT_EQ(text("ΟΔΟΣ İ"), "οδος i\u0307");
  EXPECT_EQ(text("「東京」"), "「東京」");
}

TEST(AnswerOverlap, IdeographsAreWords) {
  NormalizedAnswer answer = normalize_answer("《北京》 大学BERT v2。", ScoreUnit::character);
  EXPECT_EQ(answer.text, "北京 大学bert v2");
  EXPECT_THAT(answer.words, ElementsAre("北", "京", "大", "学", "bert", "v2"));
}

TEST(AnswerOverlap, F1IsOverCommonWordsOrTheLongestRun) {
  auto f1 = [](std::string_view gold, std::string_view predicted, ScoreUnit unit) {
    return answer_f1(normalize_answer(gold, unit), normalize_answer(predicted, unit), unit);
  };
  EXPECT_DOUBLE_EQ(f1("b c b", "b b b d", ScoreUnit::word),
                   2 * (2. / 4) * (2. / 3) / (2. / 4 + 2. / 3));
  EXPECT_EQ(f1("b c", "c b", ScoreUnit::word), 1);
  EXPECT_EQ(f1("b c", "c b", ScoreUnit::character), 0.5);
  EXPECT_EQ(f1("the", "the", ScoreUnit::word), 0);
  EXPECT_EQ(f1("", "", ScoreUnit::character), 0);
}

}  // namespace
}  // namespace bertrain
