// Shares, the entropy of a constant prediction, and what is printed of them.
#include "task/target_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace bertrain {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Frequencies, TheMostFrequentIsTheBaseline) {
  Frequencies f;
  for (const char* name : {"b", "a", "b", "c"}) f.add(name);
  EXPECT_EQ(f.share("b"), 0.5);
  EXPECT_EQ(f.share("x"), 0);
  EXPECT_EQ(f.text("labels", "rows"),
            "labels of 4 rows: 3; always saying 'b' is right for 50.0 %\n"
            "    50.0 %  'b'\n    25.0 %  'a'\n    25.0 %  'c'\n");
}

TEST(Frequencies, EntropyIsTheLossOfOneDistributionForAll) {
  Frequencies f;
  EXPECT_EQ(f.entropy(), 0);
  f.add("a");
  EXPECT_EQ(f.entropy(), 0);
  f.add("b", 3);
  EXPECT_NEAR(f.entropy(), -0.25 * std::log(0.25) - 0.75 * std::log(0.75), 1e-12);
  f.add("c", 0);  // a class that does not count
  EXPECT_NEAR(f.entropy(), -0.25 * std::log(0.25) - 0.75 * std::log(0.75), 1e-12);
}

TEST(Frequencies, SaysWhenAllAreAlikeAndListsNoMoreThanAPersonReads) {
  Frequencies f;
  EXPECT_EQ(f.text("labels", "rows"), "");
  f.add("a");
  f.add("a");
  EXPECT_EQ(f.text("labels", "rows"), "labels of 2 rows: all are 'a'\n");
  for (int i = 0; i < 30; ++i) f.add(std::to_string(i));
  EXPECT_THAT(f.text("tags", "words"), StartsWith("tags of 32 words: 31; always saying 'a'"));
  EXPECT_THAT(f.text("tags", "words"), HasSubstr("  and 11 more\n"));
}

}  // namespace
}  // namespace bertrain
