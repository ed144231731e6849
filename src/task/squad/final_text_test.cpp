// Pieces back to the original's words: what run_squad.py's comments promise, and where it gives up.
#include "task/squad/final_text.h"

#include <gtest/gtest.h>

namespace bertrain {
namespace {

std::string found(std::string_view predicted, std::string_view original, bool lower = true) {
  Tokenizer tokenizer(Vocabulary({"[UNK]"}), {.do_lower_case = lower, .strip_accents = {}});
  return final_text(predicted, original, tokenizer);
}

TEST(FinalText, IsThePartOfTheOriginal) {
  EXPECT_EQ(found("steve smith", "Steve Smith's"), "Steve Smith");
  EXPECT_EQ(found("1854", "(1854)."), "1854");
  EXPECT_EQ(found("5 . 00", "about $5.00, then"), "5.00");
  EXPECT_EQ(found("steve", "Steve", false), "Steve");  // not found as it is cased: all of it
  EXPECT_EQ(found("ra", "Paris ra"), "ra");
}

TEST(FinalText, AccentsThatWereStrippedKeepTheirPlaces) {
  EXPECT_EQ(found("lovas", "Anna Lövås, who"), "Lövås");
  EXPECT_EQ(found("東 京", "(東京)"), "東京");
}

TEST(FinalText, OtherwiseTheWholeOriginal) {
  EXPECT_EQ(found("[UNK] b", "A B c"), "A B c");
  EXPECT_EQ(found("x", "A B c"), "A B c");
  EXPECT_EQ(found("", "A B c"), "A B c");
  // A soft hyphen vanishes: the characters cannot be counted any more.
  EXPECT_EQ(found("operate", "co\u00adoperate now"), "co\u00adoperate now");
  EXPECT_EQ(found("a", ""), "");
}

TEST(FinalText, PiecesAreJoined) {
  EXPECT_EQ(joined_pieces("un ##want ##ed runn ##ing"), "unwanted running");
  EXPECT_EQ(joined_pieces("##ed a\u00a0 b "), "ed a b");
  EXPECT_EQ(joined_pieces(""), "");
}

}  // namespace
}  // namespace bertrain
