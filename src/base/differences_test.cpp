// Which values are named, and how much of long ones is shown.
#include "base/differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Differences, NestedAddedAndRemoved) {
  Json before = {{"a", {{"x", 1}, {"y", "s"}}}, {"gone", true}, {"skip", 1}};
  Json now = {{"a", {{"x", 2}, {"y", "s"}}}, {"skip", 2}, {"new", 3}};
  EXPECT_THAT(differences(before, now, {"skip"}),
              ElementsAre("a.x: 1 before, 2 now", "new: nothing before, 3 now",
                          "gone: true before, nothing now"));
  EXPECT_THAT(differences(now, now, {}), ElementsAre());
}

TEST(Differences, LongOnesAreShownWhereTheyDiffer) {
  Json before = {{"task", {{"labels", Json::array()}}}};
  for (int i = 0; i < 10000; ++i) before["task"]["labels"].push_back("c" + std::to_string(i));
  Json now = before;
  now["task"]["labels"].erase(5000);
  EXPECT_THAT(differences(before, now, {}),
              ElementsAre("task.labels: 10000 labels before, 9999 now; the first that differs is "
                          "number 5001: \"c5000\" before, \"c5001\" now"));
  now = before;
  now["task"]["labels"].push_back("more");
  EXPECT_THAT(differences(before, now, {}),
              ElementsAre("task.labels: 10000 labels before, 10001 now; the first that differs is "
                          "number 10001: nothing before, \"more\" now"));
  std::string text;
  for (int i = 0; i < 200; ++i) text += "é";
  std::vector<std::string> found =
      differences({{"a", text + "x" + text}}, {{"a", text + "y" + text}}, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], HasSubstr("éx"));
  EXPECT_THAT(found[0], HasSubstr("éy"));
  EXPECT_LT(found[0].size(), 450u);
  EXPECT_NO_THROW(Json(found[0]).dump()) << "whole characters";
  found = differences({{"a", text}}, {{"a", "é"}}, {});
  EXPECT_NO_THROW(Json(found.at(0)).dump()) << "whole characters";
}

}  // namespace
}  // namespace bertrain
