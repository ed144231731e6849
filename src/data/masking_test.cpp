// Masking: how many, which, and what stands in their place.
#include "data/masking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace bertrain {
namespace {

using testing::ElementsAre;

constexpr int32_t kCls = 2, kSep = 3, kHidden = 4, kWord = 5, kPiece = 6;  // in this vocabulary

MaskingVocabulary small() {
  return MaskingVocabulary(
      Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nplay\n##ing\n", "small"));
}

std::vector<int32_t> example_of(size_t tokens) {
  std::vector<int32_t> ids(tokens, kWord);
  ids.front() = kCls;
  ids[tokens / 2] = kSep;
  ids.back() = kSep;
  return ids;
}

size_t count_of(size_t tokens, MaskingOptions options) {
  Masker masker(small(), options);
  PythonRandom random(1);
  std::vector<MaskedToken> masked;
  masker.mask(example_of(tokens), random, masked);
  return masked.size();
}

TEST(masking, HalvesAreRoundedToEven) {
  MaskingOptions o{100, 0.15, false};
  EXPECT_EQ(count_of(30, o), 4u);
  EXPECT_EQ(count_of(10, o), 2u);
  EXPECT_EQ(count_of(50, o), 8u);
  EXPECT_EQ(count_of(70, o), 10u);
  EXPECT_EQ(count_of(5, o), 1u);
  o.max_predictions_per_seq = 3;
  EXPECT_EQ(count_of(70, o), 3u);
}

TEST(masking, EightyTenTenAndNeverASpecial) {
  Masker masker(small(), {20, 0.15, false});
  PythonRandom random(1);
  std::vector<int32_t> tokens = example_of(128);
  std::map<int32_t, int> seen;
  int total = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<MaskedToken> masked;
    masker.mask(tokens, random, masked);
    for (size_t m = 0; m < masked.size(); ++m) {
      EXPECT_EQ(tokens[masked[m].position], kWord);
      if (m > 0) {
        EXPECT_LT(masked[m - 1].position, masked[m].position);
      }
      ++seen[masked[m].replacement];
      ++total;
    }
  }
  // Random words are any of the seven, [MASK] and the word itself among them.
  EXPECT_NEAR(seen[kHidden] / double(total), 0.8 + 0.1 / 7, 0.01);
  EXPECT_NEAR(seen[kWord] / double(total), 0.1 + 0.1 / 7, 0.01);
  EXPECT_NEAR(seen[0] / double(total), 0.1 / 7, 0.005);
}

TEST(masking, AWholeWordOrNothing) {
  Masker masker(small(), {3, 0.5, true});
  PythonRandom random(1);
  const std::vector<int32_t> tokens = {kCls, kWord, kPiece, kSep, kPiece, kWord, kPiece, kSep};
  std::map<std::vector<uint32_t>, int> seen;
  for (int i = 0; i < 200; ++i) {
    std::vector<MaskedToken> masked;
    masker.mask(tokens, random, masked);
    std::vector<uint32_t> positions;
    for (const MaskedToken& m : masked) positions.push_back(m.position);
    ++seen[positions];
  }
  // The piece behind [SEP] belongs to the word before it, as in the reference.
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen.contains({1, 2, 4}));
  EXPECT_TRUE(seen.contains({5, 6}));
}

TEST(masking, NothingFitsWhenWordsAreLonger) {
  Masker masker(small(), {1, 0.15, true});
  PythonRandom random(1);
  std::vector<MaskedToken> masked;
  masker.mask(std::vector<int32_t>{kCls, kWord, kPiece, kSep, kWord, kPiece, kSep}, random, masked);
  EXPECT_TRUE(masked.empty());
}

}  // namespace
}  // namespace bertrain
