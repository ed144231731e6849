// What of a user's text a message shows.
#include "base/quote.h"

#include <gtest/gtest.h>

namespace bertrain {
namespace {

TEST(Quote, CutsAndEscapes) {
  EXPECT_EQ(quote(""), "''");
  EXPECT_EQ(quote("a b"), "'a b'");
  EXPECT_EQ(quote("a\n\t\r\x1b[2J\x7f"), "'a\\n\\t\\r\\x1b[2J\\x7f'");
  EXPECT_EQ(quote(std::string(100, 'x')), "'" + std::string(100, 'x') + "'");
  EXPECT_EQ(quote(std::string(101, 'x')), "'" + std::string(100, 'x') + "…'");
  EXPECT_EQ(quote(std::string(99, 'x') + "éé"), "'" + std::string(99, 'x') + "…'");
  EXPECT_LT(quote(std::string(100'000'000, '\x80')).size(), 110u);
}

TEST(Quote, ListsEndAfterTwenty) {
  EXPECT_EQ(quote_list({}), "");
  EXPECT_EQ(quote_list({"a", "b"}), "'a', 'b'");
  std::string list = quote_list(std::vector<std::string>(1000, "c"));
  EXPECT_TRUE(list.ends_with("'c', and 980 more")) << list;
}

TEST(Quote, NamesEndAfterTwenty) {
  EXPECT_EQ(some_of({}), "");
  EXPECT_EQ(some_of({"a", "b"}), "a, b");
  EXPECT_TRUE(some_of(std::vector<std::string>(1000, "c")).ends_with("c, c and 980 more"));
}

}  // namespace
}  // namespace bertrain
