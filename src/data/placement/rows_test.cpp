// Rows are filled best first, and dealt out within every limit.
#include "data/placement/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kMany = 1000;

TEST(FillRows, EachToTheFullestRowThatHasRoom) {
  std::vector<ExampleSize> sizes = {{2, 0}, {7, 0}, {3, 0}, {6, 0}, {1, 0}};
  std::vector<FilledRow> rows = fill_rows(sizes, {1, 10, kMany, kMany});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0].members, ElementsAre(1, 2));     // 7 + 3
  EXPECT_THAT(rows[1].members, ElementsAre(3, 0, 4));  // 6 + 2 + 1
  EXPECT_EQ(rows[0].slots, 10);
  EXPECT_EQ(rows[1].slots, 9);
  EXPECT_THAT(fill_rows({}, {1, 10, kMany, kMany}), IsEmpty());
}

TEST(FillRows, KeepsToExamplesAndTargetsOfARow) {
  std::vector<ExampleSize> sizes(6, {1, 2});
  EXPECT_EQ(fill_rows(sizes, {1, 10, 2, kMany}).size(), 3U);
  EXPECT_EQ(fill_rows(sizes, {1, 10, kMany, 5}).size(), 3U);
  EXPECT_EQ(fill_rows(sizes, {1, 10, kMany, 12}).size(), 1U);
}

TEST(DealRows, GivesEachMicroBatchItsShare) {
  // One row of six, and five rows of one.
  std::vector<ExampleSize> sizes(11, {1, 0});
  std::vector<FilledRow> rows = {{{0, 1, 2, 3, 4, 5}, 6, 0}};
  for (size_t member = 6; member < 11; ++member) rows.push_back({{member}, 1, 0});
  std::vector<MicroBatch> dealt = deal_rows(rows, sizes, {3, 10, 8, 0}, 2);
  ASSERT_EQ(dealt.size(), 2U);
  EXPECT_EQ(dealt[0].members.size() + dealt[1].members.size(), 11U);
  EXPECT_EQ(dealt[0].first_slot.size(), dealt[0].members.size());
  EXPECT_THAT(deal_rows(rows, sizes, {3, 10, 7, 0}, 2), IsEmpty());  // eight with two more rows
  EXPECT_THAT(deal_rows(rows, sizes, {2, 10, 8, 0}, 2), IsEmpty());  // three rows each
  EXPECT_EQ(deal_rows(rows, sizes, {1, 10, 6, 0}, 8).size(), 8U);    // two have none
}

TEST(DealRows, LaysMembersOutInTheOrderOfTheBatch) {
  std::vector<ExampleSize> sizes = {{2, 0}, {7, 0}, {3, 0}, {6, 0}, {1, 0}};
  std::vector<FilledRow> rows = fill_rows(sizes, {1, 10, kMany, kMany});
  std::vector<MicroBatch> dealt = deal_rows(rows, sizes, {2, 10, 5, 0}, 1);
  ASSERT_EQ(dealt.size(), 1U);
  EXPECT_THAT(dealt[0].members, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(dealt[0].first_slot, ElementsAre(0, 10, 17, 2, 8));  // the row of three is first
}

}  // namespace
}  // namespace bertrain
