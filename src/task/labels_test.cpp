// Labels: sorted as people count, found by name, never twice.
#include "task/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/error_message.h"

namespace bertrain {
namespace {

using testing::ElementsAre;

TEST(Labels, NumbersSortByValueAndWordsByBytes) {
  EXPECT_THAT(Labels::learn({"10", "9", "1", "10", "-2", "1.5"}).names(),
              ElementsAre("-2", "1", "1.5", "9", "10"));
  EXPECT_THAT(Labels::learn({"k_1980", "e", "E", "é"}).names(),
              ElementsAre("E", "e", "k_1980", "é"));
  EXPECT_THAT(Labels::learn({"10", "9", "x"}).names(), ElementsAre("10", "9", "x"));
}

TEST(Labels, TheOrderOfRowsChangesNothing) {
  EXPECT_EQ(Labels::learn({"b", "a", "c"}).names(), Labels::learn({"c", "b", "a", "a"}).names());
}

TEST(Labels, FindsByName) {
  Labels labels({"neutral", "entailment"});
  EXPECT_EQ(labels.find("entailment"), 1);
  EXPECT_EQ(labels.find("other"), -1);
  EXPECT_EQ(labels.name(0), "neutral");
  EXPECT_EQ(labels.list(), "'neutral', 'entailment'");
  EXPECT_THROW(Labels({"a", "a"}), Error);
}

TEST(Labels, MessagesShowEveryByte) {
  std::string odd("a\0\n", 3);
  EXPECT_EQ(Labels({odd, "b"}).list(), "'a\\x00\\n', 'b'");
  EXPECT_EQ(message_of([&] { Labels({odd, odd}); }), "label 'a\\x00\\n' is listed twice");
}

TEST(Labels, LongListsAreCut) {
  std::vector<std::string> names;
  for (int i = 0; i < 30; ++i) names.push_back(std::to_string(i));
  EXPECT_THAT(Labels(names).list(), testing::EndsWith("'19', … (30 in all)"));
}

}  // namespace
}  // namespace bertrain
