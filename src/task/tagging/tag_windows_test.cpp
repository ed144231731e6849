// Pieces of words and windows of sentences: every word is tagged once, at its first piece.
#include "task/tagging/tag_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Strings = std::vector<std::string>;

const Tokenizer& toy() {
  static const Tokenizer tokenizer(
      Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##b", "/", "9"}, "toy"));
  return tokenizer;
}

TEST(WordPieces, TagsTheFirstPieceOfAWord) {
  auto all = WordPieces(toy(), 16).windows({"a", "abb", "9/9/9", "zz", "b"});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(all[0].ids, ElementsAre(2, 5, 5, 7, 7, 9, 8, 9, 8, 9, 1, 6, 3));
  EXPECT_THAT(all[0].positions, ElementsAre(1, 2, 5, 10, 11));
}

TEST(WordPieces, AWordWithoutPiecesIsUnknown) {
  auto all = WordPieces(toy(), 16).windows({"a", "\u200b", "\u00ad\x01", "b"});
  EXPECT_THAT(all.at(0).ids, ElementsAre(2, 5, 1, 1, 6, 3));
  EXPECT_THAT(all.at(0).positions, ElementsAre(1, 2, 3, 4));
  all = WordPieces(toy(), 16).windows({});
  EXPECT_THAT(all.at(0).ids, ElementsAre(2, 3));
  EXPECT_TRUE(all.at(0).positions.empty());
}

TEST(WordPieces, WindowsOverlapAndTagEachWordOnce) {
  // Room for 8 pieces, context of 2.
  auto all = WordPieces(toy(), 10).windows(Strings(14, "a"));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].first_word, 0u);
  EXPECT_THAT(all[0].positions, ElementsAre(1, 2, 3, 4, 5, 6));  // words 6 and 7 are shown
  EXPECT_EQ(all[1].first_word, 6u);
  EXPECT_THAT(all[1].positions, ElementsAre(3, 4, 5, 6));  // behind words 4 and 5
  EXPECT_EQ(all[2].first_word, 10u);
  EXPECT_THAT(all[2].positions, ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(all[2].ids.size(), 8u);
}

TEST(WordPieces, AnySentenceFitsAnyLength) {
  for (int64_t length = 3; length < 20; ++length) {
    WordPieces pieces(toy(), length);
    for (size_t count = 0; count < 60; ++count) {
      Strings words;
      for (size_t i = 0; i < count; ++i) words.push_back("a" + std::string(i * i % 13, 'b'));
      size_t next = 0;
      for (const TagWindow& w : pieces.windows(words)) {
        EXPECT_EQ(w.first_word, next);
        EXPECT_LE(w.ids.size(), static_cast<size_t>(length));
        EXPECT_TRUE(count == 0 || !w.positions.empty());
        for (uint32_t position : w.positions) EXPECT_EQ(w.ids.at(position), 5);  // "a"
        next += w.positions.size();
      }
      EXPECT_EQ(next, count) << length;
    }
  }
  EXPECT_THAT([] { WordPieces(toy(), 2); }, ThrowsMessage<Error>(HasSubstr("--max_seq_length=2")));
}

TEST(WordPieces, OfThreeHundredWordsAllAreTagged) {
  size_t tagged = 0;
  for (const TagWindow& w : WordPieces(toy(), 128).windows(Strings(300, "abb"))) {
    tagged += w.positions.size();
  }
  EXPECT_EQ(tagged, 300u);
}

}  // namespace
}  // namespace bertrain
