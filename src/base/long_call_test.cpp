// Calls are spoken of when they last, and not when they do not.
#include "base/long_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "base/log.h"

namespace bertrain {
namespace {

using testing::MatchesRegex;

TEST(LongCall, IsToldAgainAndAgainWhileItLasts) {
  std::vector<std::string> lines;
  std::promise<void> told_twice;
  LogSink sink([&](std::string_view line) {
    lines.emplace_back(line);
    if (lines.size() == 2) told_twice.set_value();
  });
  {
    LongCall call("compiling", 0, 0.001);
    told_twice.get_future().wait();
  }
  ASSERT_GE(lines.size(), 2U);
  EXPECT_THAT(lines[0], MatchesRegex("compiling: [0-9]+ s so far"));
}

TEST(LongCall, IsNotToldWhenItIsShort) {
  std::vector<std::string> lines;
  LogSink sink([&](std::string_view line) { lines.emplace_back(line); });
  { LongCall call("compiling", 3600, 3600); }
  EXPECT_TRUE(lines.empty());
}

}  // namespace
}  // namespace bertrain
