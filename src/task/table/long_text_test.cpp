// Long texts: what is kept of them, their windows, and their lengths.
#include "task/table/long_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tokenizer toy() {
  return Tokenizer(Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d",
                               "e", "f", "g", "h", "i", "j"},
                              "toy"));
}

std::vector<std::vector<int32_t>> ids_of(const EncodedText& text) {
  std::vector<std::vector<int32_t>> all;
  for (const PairInput& input : text.inputs) all.push_back(input.ids);
  return all;
}

TEST(LongText, NamesAreThoseOfTheFlag) {
  for (LongText how : {LongText::head, LongText::head_tail, LongText::windows}) {
    EXPECT_EQ(find_long_text(name_of(how)), how);
  }
  EXPECT_EQ(find_long_text("tail"), std::nullopt);
}

TEST(LongText, HeadAndTailOfASingleText) {
  Tokenizer tokenizer = toy();
  LongTextEncoder encoder(tokenizer, 7, false, LongText::head_tail, 0);  // room for 5: 2 and 3
  EncodedText text = encoder.encode("a b c d e f g h i j", "");
  EXPECT_THAT(ids_of(text), ElementsAre(ElementsAre(2, 5, 6, 12, 13, 14, 3)));
  EXPECT_EQ(text.pieces, 10u);
  EXPECT_EQ(text.cut, 5u);
  EXPECT_THAT(ids_of(encoder.encode("a b c d e", "")),
              ElementsAre(ElementsAre(2, 5, 6, 7, 8, 9, 3)));
}

TEST(LongText, AHeadOf128AndATailOf382AsInThePaper) {
  Tokenizer tokenizer = toy();
  LongTextEncoder encoder(tokenizer, 512, false, LongText::head_tail, 0);
  std::string text;
  for (int i = 0; i < 300; ++i) text += "a ";
  for (int i = 0; i < 400; ++i) text += "b ";
  EncodedText encoded = encoder.encode(text, "");
  const std::vector<int32_t>& ids = encoded.inputs.at(0).ids;
  EXPECT_EQ(ids.size(), 512u);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 5), 128);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 6), 382);
}

TEST(LongText, HeadAndTailOfAPairShareTheRoomAsTheReferenceDoes) {
  Tokenizer tokenizer = toy();
  LongTextEncoder encoder(tokenizer, 11, true, LongText::head_tail, 0);  // room for 8
  // B is short: A has 6, 2 from its beginning.
  EXPECT_THAT(ids_of(encoder.encode("a b c d e f g h", "i j")),
              ElementsAre(ElementsAre(2, 5, 6, 9, 10, 11, 12, 3, 13, 14, 3)));
  // Both are long: 4 each, 1 from the beginning.
  PairInput both = encoder.encode("a b c d e f", "e f g h i j").inputs.at(0);
  EXPECT_THAT(both.ids, ElementsAre(2, 5, 8, 9, 10, 3, 9, 12, 13, 14, 3));
  EXPECT_EQ(both.first, 6u);
}

TEST(LongText, HeadIsTheReferencesTruncation) {
  Tokenizer tokenizer = toy();
  PairEncoder pairs(tokenizer, 8, true);
  for (LongText how : {LongText::head, LongText::head_tail, LongText::windows}) {
    LongTextEncoder encoder(tokenizer, 8, true, how, 0);
    EXPECT_THAT(ids_of(encoder.encode("a b", "c d e")),
                ElementsAre(pairs.encode("a b", "c d e").ids));
    EXPECT_THAT(ids_of(encoder.encode("", "")), ElementsAre(ElementsAre(2, 3)));
  }
  LongTextEncoder encoder(tokenizer, 8, true, LongText::head, 0);
  EncodedText text = encoder.encode("a b c d e f", "g h i j");
  EXPECT_THAT(ids_of(text), ElementsAre(pairs.encode("a b c d e f", "g h i j").ids));
  EXPECT_EQ(text.pieces, 10u);
  EXPECT_EQ(text.cut, 5u);
}

TEST(LongText, WindowsOfASingleTextOverlapAndReachTheEnd) {
  Tokenizer tokenizer = toy();
  LongTextEncoder encoder(tokenizer, 6, false, LongText::windows, 3);  // 4 wide
  EncodedText text = encoder.encode("a b c d e f g h", "");
  EXPECT_THAT(ids_of(text),
              ElementsAre(ElementsAre(2, 5, 6, 7, 8, 3), ElementsAre(2, 8, 9, 10, 11, 3),
                          ElementsAre(2, 11, 12, 3)));
  EXPECT_EQ(text.cut, 0u);
  EXPECT_EQ(text.pieces, 8u);
  EXPECT_EQ(encoder.encode("a b c d", "").inputs.size(), 1u);
  EXPECT_EQ(encoder.encode("a b c d e f g", "").inputs.size(),
            2u);  // the second ends with the text
}

TEST(LongText, AWindowBeginsHalfAWidthAfterTheOneBeforeUnlessToldOtherwise) {
  Tokenizer tokenizer = toy();
  auto windows = [&](int64_t length, int64_t stride) {
    return LongTextEncoder(tokenizer, length, false, LongText::windows, stride)
        .encode("a b c d e f g h i j", "")
        .inputs.size();
  };
  EXPECT_EQ(windows(6, 0), 4u);     // 4 wide, 2 apart: 0, 2, 4, 6
  EXPECT_EQ(windows(6, 1), 7u);     // 0 … 6
  EXPECT_EQ(windows(6, 4), 3u);     // 0, 4, 8
  EXPECT_EQ(windows(6, 1000), 3u);  // no piece is left out
  EXPECT_EQ(windows(3, 0), 10u);    // 1 wide
}

TEST(LongText, TheLongerTextOfAPairGoesInWindows) {
  Tokenizer tokenizer = toy();
  LongTextEncoder encoder(tokenizer, 9, true, LongText::windows, 2);  // room for 6
  EncodedText text = encoder.encode("a b c d e f", "i j");
  EXPECT_THAT(ids_of(text), ElementsAre(ElementsAre(2, 5, 6, 7, 8, 3, 13, 14, 3),
                                        ElementsAre(2, 7, 8, 9, 10, 3, 13, 14, 3)));
  EXPECT_EQ(text.inputs[1].first, 6u);
  EXPECT_EQ(text.cut, 0u);
  text = encoder.encode("i", "a b c d e f");
  EXPECT_THAT(ids_of(text), ElementsAre(ElementsAre(2, 13, 3, 5, 6, 7, 8, 9, 3),
                                        ElementsAre(2, 13, 3, 7, 8, 9, 10, 3)));
  // Both are beyond half of the room: the first of equal ones is cut to it.
  text = encoder.encode("a b c d", "e f g h");
  EXPECT_THAT(ids_of(text), ElementsAre(ElementsAre(2, 5, 6, 7, 3, 9, 10, 11, 3),
                                        ElementsAre(2, 5, 6, 7, 3, 11, 12, 3)));
  EXPECT_EQ(text.cut, 1u);
  EXPECT_EQ(text.pieces, 8u);
}

TEST(LongText, AllPiecesAreInWindows) {
  Tokenizer tokenizer = toy();
  std::string letters = "abcdefghij";
  for (int64_t length = 5; length < 12; ++length) {
    for (int64_t stride = 0; stride < 12; ++stride) {
      for (size_t m = 0; m <= 10; ++m) {
        std::string a;
        for (size_t i = 0; i < m; ++i) a += std::string(1, letters[i]) + " ";
        LongTextEncoder encoder(tokenizer, length, true, LongText::windows, stride);
        for (const char* b : {"", "j", "j i"}) {
          EncodedText text = encoder.encode(a, b);
          std::vector<bool> seen(m);
          for (const PairInput& input : text.inputs) {
            EXPECT_LE(input.ids.size(), static_cast<size_t>(length));
            for (uint32_t i = 1; i + 1 < input.first; ++i) {
              seen.at(static_cast<size_t>(input.ids[i]) - 5) = true;
            }
          }
          if (text.cut == 0) {
            EXPECT_EQ(std::count(seen.begin(), seen.end(), true), m);
          }
        }
      }
    }
  }
}

TEST(LongText, WindowsWithoutMeasureAreRefused) {
  Tokenizer tokenizer = toy();
  std::string text;
  for (int i = 0; i < 100'010; ++i) text += "a ";
  LongTextEncoder encoder(tokenizer, 8, false, LongText::windows, 1);
  EXPECT_THAT([&] { encoder.encode(text, ""); },
              ThrowsMessage<Error>(HasSubstr("100010 pieces makes more than 100000 windows of 6")));
}

TEST(TextLengths, CountsAndPercentiles) {
  TextLengths lengths(LongText::head);
  EXPECT_EQ(lengths.percentile(50), 0u);
  for (uint64_t pieces = 1; pieces <= 200; ++pieces) {
    EncodedText text;
    text.inputs.resize(1);
    text.pieces = pieces;
    text.cut = pieces > 190 ? pieces - 190 : 0;
    lengths.add(text);
  }
  EXPECT_EQ(lengths.percentile(50), 100u);
  EXPECT_EQ(lengths.percentile(99), 198u);
  EXPECT_TRUE(lengths.any_long());
  EXPECT_EQ(
      lengths.summary(),
      "10 of 200 texts (5.0 %) were cut (--long_text=head); pieces a text: at most 100 in 50 % "
      "of them, 180 in 90 %, 190 in 95 %, 198 in 99 %, 200 in the longest");
}

TEST(TextLengths, OfWindows) {
  TextLengths lengths(LongText::windows);
  EncodedText text;
  text.inputs.resize(1);
  text.pieces = 3;
  lengths.add(text);
  EXPECT_FALSE(lengths.any_long());
  text.inputs.resize(4);
  text.pieces = 20;
  lengths.add(text);
  EXPECT_THAT(
      lengths.summary(),
      HasSubstr("1 of 2 texts (50.0 %) are longer than a window; all make 5 windows; pieces"));
  text.cut = 1;
  lengths.add(text);
  EXPECT_THAT(lengths.summary(), HasSubstr("9 windows; of 1 pairs the shorter text was cut too;"));
}

}  // namespace
}  // namespace bertrain
