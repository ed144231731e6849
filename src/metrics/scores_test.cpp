// Scores: hand-computed values, and what happens where a score is not defined.
#include "metrics/scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace bertrain {
namespace {

Confusion confusion(size_t classes, std::vector<std::pair<size_t, size_t>> pairs) {
  Confusion c(classes);
  for (auto [label, predicted] : pairs) c.add(label, predicted);
  return c;
}

TEST(Scores, WeightedMean) {
  WeightedMean m;
  EXPECT_EQ(m.mean(), 0);
  m.add(1, 3);
  m.add(5);
  m.add(1000, 0);
  EXPECT_EQ(m.mean(), 2);
  EXPECT_EQ(m.weight(), 4);
}

// labels 0 0 0 1 1 2, predictions 0 0 1 1 2 2
TEST(Scores, ThreeClasses) {
  Confusion c = confusion(3, {{0, 0}, {0, 0}, {0, 1}, {1, 1}, {1, 2}, {2, 2}});
  EXPECT_EQ(c.total(), 6u);
  EXPECT_DOUBLE_EQ(c.accuracy(), 4.0 / 6);
  EXPECT_EQ(c.count(0, 1), 1u);
  EXPECT_EQ(c.count(1, 0), 0u);
  EXPECT_DOUBLE_EQ(c.hits(0).precision(), 1);
  EXPECT_DOUBLE_EQ(c.hits(0).recall(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(c.hits(0).f1(), 0.8);
  EXPECT_DOUBLE_EQ(c.hits(1).f1(), 0.5);
  EXPECT_DOUBLE_EQ(c.hits(2).f1(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(c.macro_f1(), (0.8 + 0.5 + 2.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(c.weighted_f1(), (3 * 0.8 + 2 * 0.5 + 2.0 / 3) / 6);
  std::vector<Hits> all = {c.hits(0), c.hits(1), c.hits(2)};
  EXPECT_DOUBLE_EQ(micro_f1(all), 4.0 / 6);  // of single labels it is the accuracy
  // c = 4, s = 6, p = (2, 2, 2), t = (3, 2, 1): (24 − 12) / √(24 · 22)
  EXPECT_NEAR(c.matthews(), 12 / std::sqrt(24.0 * 22), 1e-15);
}

TEST(Scores, PairsOfClassesThatAreMistakenMostOften) {
  Confusion c = confusion(100'000, {{7, 7}, {5, 3}, {3, 5}, {9, 1}, {1, 9}, {1, 9}, {99'999, 0}});
  EXPECT_EQ(c.count(1, 9), 2u);
  EXPECT_EQ(c.count(9, 9), 0u);
  std::vector<Confusion::Mistaken> pairs = c.most_mistaken(10);
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0].a, 1u);
  EXPECT_EQ(pairs[0].b, 9u);
  EXPECT_EQ(pairs[0].a_as_b, 2u);
  EXPECT_EQ(pairs[0].b_as_a, 1u);
  EXPECT_EQ(pairs[1].a, 3u);
  EXPECT_EQ(pairs[2].b, 99'999u);
  EXPECT_EQ(pairs[2].a_as_b, 0u);
  EXPECT_EQ(pairs[2].b_as_a, 1u);
  EXPECT_EQ(c.most_mistaken(1).size(), 1u);
}

TEST(Scores, MatthewsOfTwoClassesIsTheUsualOne) {
  Confusion c = confusion(2, {{1, 1}, {1, 1}, {1, 0}, {0, 0}, {0, 1}});
  double tp = 2, tn = 1, fp = 1, fn = 1;
  double usual = (tp * tn - fp * fn) / std::sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn));
  EXPECT_NEAR(c.matthews(), usual, 1e-15);
  EXPECT_DOUBLE_EQ(confusion(2, {{0, 1}, {1, 0}}).matthews(), -1);
}

TEST(Scores, WithoutVarianceNothingIsNaN) {
  Confusion one_answer = confusion(2, {{0, 0}, {1, 0}, {0, 0}});
  EXPECT_EQ(one_answer.matthews(), 0);
  EXPECT_EQ(one_answer.hits(1).f1(), 0);
  EXPECT_EQ(one_answer.hits(1).precision(), 0);
  Confusion one_class = confusion(1, {{0, 0}});
  EXPECT_EQ(one_class.matthews(), 0);
  EXPECT_EQ(one_class.accuracy(), 1);
  Confusion nothing(3);
  EXPECT_EQ(nothing.accuracy(), 0);
  EXPECT_EQ(nothing.macro_f1(), 0);
  EXPECT_EQ(nothing.weighted_f1(), 0);
  EXPECT_EQ(micro_f1({}), 0);
}

TEST(Scores, AbsentClassesDoNotCountInTheMacroMean) {
  EXPECT_EQ(confusion(5, {{0, 0}, {1, 1}}).macro_f1(), 1);
}

TEST(Scores, ClassBeyondTheEndIsABug) {
  Confusion c(2);
  EXPECT_THROW(c.add(2, 0), std::logic_error);
  EXPECT_THROW(c.add(0, 2), std::logic_error);
}

TEST(Scores, Correlations) {
  std::vector<double> x = {1, 2, 3, 4}, y = {2, 4, 6, 8}, z = {1, 100, 10000, 10001};
  EXPECT_DOUBLE_EQ(*pearson(x, y), 1);
  EXPECT_LT(*pearson(x, z), 1);
  EXPECT_DOUBLE_EQ(*spearman(x, z), 1);
  std::vector<double> down = {4, 3, 2, 1}, ties = {1, 1, 2, 3};
  EXPECT_DOUBLE_EQ(*pearson(x, down), -1);
  EXPECT_NEAR(*spearman(x, ties), 0.9486832980505138, 1e-15);  // ranks 1.5 1.5 3 4
}

TEST(Scores, NoCorrelationWithoutVariance) {
  std::vector<double> x = {1, 2, 3}, same = {0.1, 0.1, 0.1}, one = {1};
  EXPECT_FALSE(pearson(x, same));
  EXPECT_FALSE(spearman(same, x));
  EXPECT_FALSE(pearson(one, one));
  EXPECT_FALSE(pearson({}, {}));
  std::vector<double> bad = {1, std::numeric_limits<double>::quiet_NaN(), 3};
  EXPECT_FALSE(pearson(x, bad));
  EXPECT_FALSE(spearman(bad, x));
  std::vector<double> offset = {1e9, 1e9 + 1, 1e9 + 2};
  EXPECT_NEAR(*pearson(x, offset), 1, 1e-12);
}

}  // namespace
}  // namespace bertrain
