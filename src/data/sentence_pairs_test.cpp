// Sentence pairs: lengths, where B comes from, and corpora too small for a second document.
#include "data/sentence_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace bertrain {
namespace {

// Documents of sentences of one length; every token of the corpus has its own number.
Documents numbered(const std::vector<std::vector<size_t>>& lengths) {
  Documents documents;
  int32_t next = 0;
  for (const auto& document : lengths) {
    for (size_t length : document) {
      std::vector<int32_t> tokens(length);
      std::iota(tokens.begin(), tokens.end(), next);
      next += static_cast<int32_t>(length);
      documents.add_sentence(tokens);
    }
    documents.end_document();
  }
  return documents;
}

std::vector<SentencePair> pairs_of(const Documents& documents, PairOptions options,
                                   PairCounts& counts, int passes = 200) {
  PythonRandom random(7);
  std::vector<size_t> order(documents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<SentencePair> pairs;
  for (int i = 0; i < passes; ++i) {
    for (size_t d = 0; d < order.size(); ++d) {
      make_sentence_pairs(documents, order, d, options, random, counts,
                          [&](const SentencePair& p) { pairs.push_back(p); });
    }
  }
  return pairs;
}

TEST(sentence_pairs, FitAndTrueOnesFollow) {
  Documents documents = numbered({{3, 1, 9, 4}, {2}, {8, 8, 8, 1, 1}});
  PairCounts counts;
  PairOptions options{16, 0.3};
  size_t random_next = 0;
  for (const SentencePair& p : pairs_of(documents, options, counts)) {
    EXPECT_GE(p.a.size, 1u);
    EXPECT_GE(p.b.size, 1u);
    EXPECT_LE(p.a.size + p.b.size, 13u);
    EXPECT_LE(p.b.begin + p.b.size, documents.total_tokens());
    if (!p.random_next) {
      EXPECT_GE(p.b.begin, p.a.begin + p.a.size);
    }
    random_next += p.random_next;
  }
  EXPECT_GT(random_next, 200u);
  EXPECT_GT(counts.truncated, 0u);
  EXPECT_GE(counts.cut_tokens, counts.truncated);
  EXPECT_EQ(counts.kept_in_order, 0u);
}

TEST(sentence_pairs, TheShortestLength) {
  PairCounts counts;
  for (const SentencePair& p : pairs_of(numbered({{5, 5}, {1}}), {5, 1.0}, counts)) {
    EXPECT_EQ(p.a.size + p.b.size, 2u);
  }
  EXPECT_THROW(pairs_of(numbered({{1}}), {4, 0.1}, counts), std::logic_error);
}

TEST(sentence_pairs, OneDocumentGivesTruePairsOnly) {
  PairCounts counts;
  std::vector<SentencePair> pairs = pairs_of(numbered({{3, 3, 3}}), {128, 0.1}, counts);
  ASSERT_GE(pairs.size(), 200u);
  for (const SentencePair& p : pairs) {
    EXPECT_FALSE(p.random_next);
    EXPECT_EQ(p.b.begin, p.a.begin + p.a.size);
  }
  EXPECT_GT(counts.kept_in_order, 50u);
  EXPECT_EQ(counts.dropped, 0u);
}

TEST(sentence_pairs, OneSentenceIsPartedAndOneTokenDropped) {
  PairCounts counts;
  std::vector<SentencePair> pairs = pairs_of(numbered({{1'000'000}}), {128, 0.0}, counts, 10);
  ASSERT_EQ(pairs.size(), 10u);
  EXPECT_EQ(pairs[0].a.size, 63u);
  EXPECT_EQ(pairs[0].b.size, 62u);
  EXPECT_EQ(pairs[0].b.begin, 63u);
  EXPECT_EQ(counts.cut_tokens, 10u * (1'000'000 - 125));
  counts = {};
  EXPECT_TRUE(pairs_of(numbered({{1}}), {128, 0.0}, counts, 10).empty());
  EXPECT_EQ(counts.dropped, 10u);
}

}  // namespace
}  // namespace bertrain
