// Cadences: what parses, and at which steps each is due.
#include "train/cadence.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace bertrain {
namespace {

std::vector<int64_t> due_steps(std::string_view text, double steps_per_epoch, int64_t until) {
  Cadence cadence = parse_cadence("save_every", text);
  std::vector<int64_t> result;
  for (int64_t step = 1; step <= until; ++step) {
    if (due(cadence, step, steps_per_epoch, 0)) result.push_back(step);
  }
  return result;
}

TEST(Cadence, StepsAndEpochs) {
  using Steps = std::vector<int64_t>;
  EXPECT_EQ(due_steps("3", 10, 10), (Steps{3, 6, 9}));
  EXPECT_EQ(due_steps("5steps", 10, 10), (Steps{5, 10}));
  EXPECT_EQ(due_steps("1epoch", 4, 9), (Steps{4, 8}));
  EXPECT_EQ(due_steps("0.5epochs", 4, 8), (Steps{2, 4, 6, 8}));
  EXPECT_EQ(due_steps("1epoch", 2.5, 10), (Steps{3, 5, 8, 10}));  // the step that crosses the end
  EXPECT_EQ(due_steps("0.1epoch", 30, 9), (Steps{3, 6, 9}));
  EXPECT_EQ(due_steps("never", 1, 9), Steps{});
  for (const char* zero : {"0", "0steps", "0epochs", "0m"}) {
    EXPECT_EQ(parse_cadence("save_every", zero).unit, Cadence::never) << zero;
  }
}

TEST(Cadence, Time) {
  Cadence ten_minutes = parse_cadence("eval_every", "10m");
  EXPECT_FALSE(due(ten_minutes, 1, 1, 599.9));
  EXPECT_TRUE(due(ten_minutes, 1, 1, 600));
  EXPECT_TRUE(due(parse_cadence("eval_every", "1.5s"), 1, 1, 1.5));
  EXPECT_FALSE(due(parse_cadence("eval_every", "2h"), 1, 1, 7199));
}

TEST(Cadence, TimesAreAsOftenAsItIsDue) {
  for (const char* text : {"never", "1", "7", "100", "0.3epochs", "1epoch", "1e9"}) {
    Cadence cadence = parse_cadence("eval_every", text);
    int64_t times = 0;
    for (int64_t step = 1; step <= 100; ++step) times += due(cadence, step, 25, 0);
    EXPECT_EQ(most_times(cadence, 100, 25), times) << text;
  }
  EXPECT_EQ(most_times(parse_cadence("eval_every", "0.01epochs"), 100, 25), 100);
  EXPECT_EQ(most_times(parse_cadence("eval_every", "5m"), 100, 25), 100);
}

TEST(Cadence, RefusesTheRestByName) {
  for (const char* text :
       {"", "x", "-5", "1.5", "10min", "1e400", "nan", "inf", "5 steps", "-1s"}) {
    try {
      parse_cadence("eval_every", text);
      FAIL() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::usage);
      EXPECT_NE(std::string(e.what()).find(fmt::format("--eval_every={}:", text)),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace bertrain
