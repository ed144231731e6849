// When predictions that are nearly all the same are doubted, and when they are right to be.
#include "metrics/one_sided.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bertrain {
namespace {

using testing::HasSubstr;

// Of `cases`, the first `odd` are "b" and the others "a"; all are predicted as "a" but the first `right`.
std::string doubt_after(int cases, int odd, int right) {
  OneSided seen;
  for (int i = 0; i < cases; ++i) seen.add(i < odd ? "b" : "a", i < right ? "b" : "a");
  return seen.doubt("rows", "labelled");
}

TEST(OneSided, DoubtsTheSameOfNearlyAll) {
  EXPECT_THAT(doubt_after(200, 80, 2),
              HasSubstr("99.0 % of the rows are labelled 'a' by the model, which 60.0 % are"));
  EXPECT_EQ(doubt_after(200, 80, 3), "");
  EXPECT_THAT(doubt_after(20, 8, 0), HasSubstr("100.0 %"));
  EXPECT_EQ(doubt_after(19, 8, 0), "") << "too few to say";
  EXPECT_EQ(doubt_after(200, 2, 0), "") << "nearly all are right to be the same";
  EXPECT_EQ(OneSided().doubt("rows", "labelled"), "");
}

TEST(OneSided, NothingIsAnAnswerToo) {
  OneSided seen;
  for (int i = 0; i < 20; ++i) seen.add(i < 5 ? "" : "b", "");
  EXPECT_THAT(seen.doubt("questions", "answered"),
              HasSubstr("100.0 % of the questions are answered with nothing by the model, which "
                        "25.0 % are"));
}

}  // namespace
}  // namespace bertrain
