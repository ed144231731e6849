// Threefry against the known answers published with Random123, and the distributions' ranges.
#include "base/rng.h"

#include <gtest/gtest.h>

#include <cmath>

namespace bertrain {
namespace {

TEST(Threefry, EqualsKnownAnswers) {
  EXPECT_EQ(threefry({0, 0}, {0, 0}), (Block{0x6b200159u, 0x99ba4efeu}));
  EXPECT_EQ(threefry({~0u, ~0u}, {~0u, ~0u}), (Block{0x1cb996fcu, 0xbb002be7u}));
  EXPECT_EQ(threefry({0x13198a2eu, 0x03707344u}, {0x243f6a88u, 0x85a308d3u}),
            (Block{0xc4923a9cu, 0x483df7a0u}));
}

TEST(Threefry, KeysDifferByPathCallAndSeed) {
  EXPECT_EQ(key_of(1, "bert/a", 0), key_of(1, "bert/a", 0));
  EXPECT_NE(key_of(1, "bert/a", 0), key_of(1, "bert/b", 0));
  EXPECT_NE(key_of(1, "bert/a", 0), key_of(1, "bert/a", 1));
  EXPECT_NE(key_of(1, "bert/a", 0), key_of(2, "bert/a", 0));
}

TEST(TruncatedNormal, StaysWithinTwoDeviationsAndSpreads) {
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    double v = truncated_normal({7, 8}, i);
    ASSERT_LE(std::fabs(v), 2.0);
    sum += v, squares += v * v;
  }
  EXPECT_NEAR(sum / 20000, 0, 0.02);
  EXPECT_NEAR(squares / 20000, 0.7737, 0.02);  // variance of a normal cut at two deviations
}

TEST(Below, StaysBelow) {
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_LT(below({1, 2}, i, 7), 7u);
}

}  // namespace
}  // namespace bertrain
