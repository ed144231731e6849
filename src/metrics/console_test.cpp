// Progress: what a log gets, what a terminal gets, and the time left.
#include "metrics/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/log.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Output {
  double now = 100;
  std::string terminal;
  std::vector<std::string> lines;
  LogSink sink{[this](std::string_view line) { lines.emplace_back(line); }};

  Console console(Console::Style style, int64_t first, int64_t last) {
    return Console(
        "training", first, last, style, [this] { return now; },
        [this](std::string_view text) { terminal += text; });
  }
};

TEST(Console, LinesInALog) {
  Output out;
  Console console = out.console(Console::Style::lines, 0, 1000);
  EXPECT_THAT(out.lines, ElementsAre("training step 0/1000"));
  out.now += 10;
  console.logged({100, 2.34567, 1e-4, 1234.5, 98765.4});
  EXPECT_EQ(out.lines.back(),
            "training step 100/1000  loss 2.3457  rate 0.0001  1234 examples/s  98765 tokens/s  "
            "1 min 30 s left");
  EXPECT_EQ(out.terminal, "");
}

TEST(Console, LogIsNeverSilentForLong) {
  Output out;
  Console console = out.console(Console::Style::lines, 0, 1000);
  out.now += 29;
  console.step(3);
  EXPECT_EQ(out.lines.size(), 1u);
  out.now += 2;
  console.step(4);
  EXPECT_EQ(out.lines.size(), 2u);
  EXPECT_THAT(out.lines.back(), HasSubstr("step 4/1000"));
}

TEST(Console, BarOnATerminal) {
  Output out;
  {
    Console console = out.console(Console::Style::bar, 0, 40);
    out.now += 1;
    console.step(10);
    EXPECT_THAT(out.terminal,
                HasSubstr("\rtraining [#####...............] 10/40  3 s left\x1b[K\r"));
    size_t before = out.terminal.size();
    console.step(11);  // too soon to draw again
    EXPECT_EQ(out.terminal.size(), before);
    // A log beside the terminal gets the lines that it would get without one.
    EXPECT_THAT(out.lines, ElementsAre("training step 0/40"));
    console.logged({.step = 12, .loss = 0.5});
    EXPECT_THAT(out.lines,
                ElementsAre("training step 0/40", "training step 12/40  loss 0.5000  2 s left"));
    out.now += 31;
    console.step(13);
    EXPECT_THAT(out.lines.back(), HasSubstr("training step 13/40"));
  }
  EXPECT_TRUE(out.terminal.ends_with("\r\x1b[K"));
}

TEST(Console, TimeLeftCountsFromWhereTheRunBegan) {
  Output out;
  Console console = out.console(Console::Style::lines, 50, 100);
  out.now += 10;
  console.logged({.step = 60, .loss = 1.0});
  EXPECT_EQ(out.lines.back(), "training step 60/100  loss 1.0000  40 s left");
  console.logged({.step = 100});
  EXPECT_EQ(out.lines.back(), "training step 100/100");
}

TEST(Console, NothingToDo) {
  Output out;
  Console console = out.console(Console::Style::bar, 0, 0);
  console.logged({});
  EXPECT_THAT(out.terminal, HasSubstr("training step 0/0"));
}

TEST(Console, Durations) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(59.6), "1 min 0 s");
  EXPECT_EQ(duration_text(3600 * 3 + 60 * 20), "3 h 20 min");
  EXPECT_EQ(duration_text(86400.0 * 3 + 3600), "3 d 1 h");
  EXPECT_EQ(duration_text(-5), "0 s");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "unknown");
}

}  // namespace
}  // namespace bertrain
