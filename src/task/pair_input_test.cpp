// Pair input: ids and truncation as the reference has them.
#include "task/pair_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "text/byte_bpe.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

using testing::ElementsAre;

Tokenizer toy() {
  return Tokenizer(Vocabulary(
      {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "who", "?"}, "toy"));
}

std::string times(std::string_view word, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::string(word) + " ";
  return text;
}

TEST(PairInput, TheLongerTextIsCut) {
  Tokenizer tokenizer = toy();
  PairEncoder encoder(tokenizer, 8, true);
  EXPECT_THAT(encoder.encode(times("a", 20), "b").ids, ElementsAre(2, 5, 5, 5, 5, 3, 6, 3));
  EXPECT_THAT(encoder.encode("a", times("b", 20)).ids, ElementsAre(2, 5, 3, 6, 6, 6, 6, 3));
  PairInput both = encoder.encode(times("a", 9), times("b", 9));
  EXPECT_THAT(both.ids, ElementsAre(2, 5, 5, 5, 3, 6, 6, 3));
  EXPECT_EQ(both.first, 5u);
  EXPECT_EQ(both.cut, 13u);
}

// The reference pops one piece at a time; we compute where that ends.
TEST(PairInput, CutsWherePoppingOneByOneEnds) {
  Tokenizer tokenizer = toy();
  for (int length = 5; length < 12; ++length) {
    PairEncoder encoder(tokenizer, length, true);
    for (int m = 0; m < 12; ++m) {
      for (int n = 0; n < 12; ++n) {
        int a = m, b = n;
        while (a + b > length - (n > 0 ? 3 : 2)) a > b ? --a : --b;
        if (n == 0) a = std::min(m, length - 2);
        PairInput input = encoder.encode(times("a", m), times("b", n));
        std::vector<int32_t> want = {2};
        want.insert(want.end(), static_cast<size_t>(a), 5);
        want.push_back(3);
        if (n > 0) {
          want.insert(want.end(), static_cast<size_t>(b), 6);
          want.push_back(3);
        }
        EXPECT_EQ(input.ids, want) << m << " " << n << " in " << length;
        EXPECT_EQ(input.cut, static_cast<uint64_t>(m + n - a - b));
      }
    }
  }
}

TEST(PairInput, NothingInASecondTextMakesASingleOne) {
  Tokenizer tokenizer = toy();
  PairEncoder encoder(tokenizer, 5, true);
  EXPECT_THAT(encoder.encode(times("a", 9), "").ids, ElementsAre(2, 5, 5, 5, 3));
  EXPECT_THAT(encoder.encode(times("a", 9), " \u200b ").ids, ElementsAre(2, 5, 5, 5, 3));
  EXPECT_EQ(encoder.encode("a", "").first, 3u);
}

TEST(PairInput, EmptyTextsAreTwoSpecialTokens) {
  Tokenizer tokenizer = toy();
  PairEncoder encoder(tokenizer, 8, false);
  for (std::string_view text : {"", "   ", "\u200b"}) {
    EXPECT_THAT(encoder.encode(text, "").ids, ElementsAre(2, 3));
  }
}

TEST(PairInput, SpecialTokensInTextAreText) {
  Tokenizer tokenizer = toy();
  PairEncoder encoder(tokenizer, 20, false);
  EXPECT_THAT(encoder.encode("a [SEP] b", "").ids, ElementsAre(2, 5, 1, 1, 1, 6, 3));
}

TEST(PairInput, LengthsWithoutRoomAreRefused) {
  Tokenizer tokenizer = toy();
  EXPECT_THROW(PairEncoder(tokenizer, 4, true), Error);
  EXPECT_THROW(PairEncoder(tokenizer, 2, false), Error);
  EXPECT_THROW(PairEncoder(tokenizer, -1, false), Error);
  EXPECT_NO_THROW(PairEncoder(tokenizer, 3, false));
}

TEST(PairInput, FeaturesForThePacker) {
  std::vector<int32_t> ids = {2, 5, 3, 6, 3};
  Example example;
  add_input(example, ids.data(), 5, 3);
  EXPECT_THAT(integers(example, "input_ids"), ElementsAre(2, 5, 3, 6, 3));
  EXPECT_THAT(integers(example, "segment_ids"), ElementsAre(0, 0, 0, 1, 1));
}

// RoBERTa's: two separators between, all of one segment, whatever is cut.
TEST(PairInput, RobertaHasTwoSeparatorsBetween) {
  std::vector<std::string> tokens = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
  for (int byte = 0; byte < 256; ++byte) {
    append_utf8(byte_character(static_cast<uint8_t>(byte)), tokens.emplace_back());
  }
  Tokenizer tokenizer(ByteBpeModel{Vocabulary(std::move(tokens)), {}}, {});
  int32_t a = tokenizer.vocabulary().id("a"), b = tokenizer.vocabulary().id("b");
  PairEncoder encoder(tokenizer, 8, true);
  EXPECT_THAT(encoder.encode("a", "bb").ids, ElementsAre(0, a, 2, 2, b, b, 2));
  PairInput cut = encoder.encode("aaaaa", "bbbbb");
  EXPECT_THAT(cut.ids, ElementsAre(0, a, a, 2, 2, b, b, 2));
  EXPECT_EQ(cut.first, cut.ids.size());
  EXPECT_EQ(cut.cut, 6u);
  EXPECT_THAT(encoder.encode("a", "").ids, ElementsAre(0, a, 2));
  EXPECT_EQ(PairEncoder::least_length(tokenizer.special(), true), 6);
  EXPECT_THROW(PairEncoder(tokenizer, 5, true), Error);
}

}  // namespace
}  // namespace bertrain
