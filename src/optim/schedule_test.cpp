// Learning rates: the reference's at each stage, and never negative or NaN.
#include "optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/log.h"

namespace bertrain {
namespace {

TEST(Schedule, GoogleFallsFromStepZeroAndJumpsWhereWarmUpEnds) {
  Schedule s{.peak_rate = 2e-3, .steps = 20, .warmup = 4};
  EXPECT_EQ(rate_at(s, 0), 0.0F);
  EXPECT_FLOAT_EQ(rate_at(s, 1), 5e-4F);
  EXPECT_FLOAT_EQ(rate_at(s, 3), 1.5e-3F);
  EXPECT_FLOAT_EQ(rate_at(s, 4), 2e-3F * (1 - 4.0F / 20));
  EXPECT_FLOAT_EQ(rate_at(s, 19), 2e-3F / 20);
  EXPECT_EQ(rate_at(s, 20), 0.0F);
  EXPECT_EQ(rate_at(s, 1000000), 0.0F);
}

TEST(Schedule, WithoutWarmUpStepZeroHasThePeak) {
  Schedule s{.peak_rate = 1e-4, .steps = 10, .warmup = 0};
  EXPECT_FLOAT_EQ(rate_at(s, 0), 1e-4F);
  s.end_rate = 5e-5;
  EXPECT_FLOAT_EQ(rate_at(s, 5), 7.5e-5F);
  EXPECT_FLOAT_EQ(rate_at(s, 10), 5e-5F);
}

TEST(Schedule, HuggingFaceFallsFromTheEndOfWarmUp) {
  Schedule s{.peak_rate = 1e-3, .steps = 20, .warmup = 4, .decay = Decay::linear_after_warmup};
  EXPECT_FLOAT_EQ(rate_at(s, 4), 1e-3F);
  EXPECT_FLOAT_EQ(rate_at(s, 12), 5e-4F);
  EXPECT_EQ(rate_at(s, 20), 0.0F);
}

TEST(Schedule, WarmUpLongerThanTheRunIsWarnedOfAndStaysFinite) {
  std::string logged;
  LogSink sink([&](std::string_view line) { logged += line; });
  for (Decay decay : {Decay::linear, Decay::linear_after_warmup, Decay::constant}) {
    Schedule s{.peak_rate = 1e-3, .steps = 10, .warmup = 100, .decay = decay};
    logged.clear();
    check_schedule(s);
    EXPECT_NE(logged.find("100 warm-up steps for 10 training steps"), std::string::npos);
    for (uint64_t step = 0; step < 300; ++step) {
      float rate = rate_at(s, step);
      EXPECT_TRUE(std::isfinite(rate) && rate >= 0 && rate <= 1e-3F) << step;
    }
  }
}

TEST(Schedule, SingleStep) {
  Schedule s{.peak_rate = 1e-3, .steps = 1, .warmup = 0};
  check_schedule(s);
  EXPECT_FLOAT_EQ(rate_at(s, 0), 1e-3F);
}

TEST(Schedule, RefusesWhatIsNoSchedule) {
  EXPECT_THROW(check_schedule({.peak_rate = 1e-3, .steps = 0}), Error);
  EXPECT_THROW(check_schedule({.peak_rate = -1e-3, .steps = 5}), Error);
  EXPECT_THROW(check_schedule({.peak_rate = NAN, .steps = 5}), Error);
  EXPECT_THROW(check_schedule({.peak_rate = 1e-3, .steps = 5, .warmup = -1}), Error);
  EXPECT_THROW(parse_decay("cosine"), Error);
}

}  // namespace
}  // namespace bertrain
