// How many saved states a run needs room for.
#include "train/loop.h"

#include <gtest/gtest.h>

namespace bertrain {
namespace {

int64_t states(const char* save, const char* evaluate, int64_t keep, bool evaluated = true,
               int64_t steps = 100) {
  LoopOptions options;
  options.steps = steps;
  options.save_every = parse_cadence("save_every", save);
  options.eval_every = parse_cadence("eval_every", evaluate);
  options.steps_per_epoch = 25;
  return most_states(options, keep, evaluated);
}

TEST(MostStates, KeptOneInTheMakingAndTheBest) {
  EXPECT_EQ(states("never", "never", 2), 1);  // at the end
  EXPECT_EQ(states("100", "never", 2), 1);    // the same
  EXPECT_EQ(states("50", "never", 2), 2);     // the first stays while the last is made
  EXPECT_EQ(states("1", "never", 2), 3);
  EXPECT_EQ(states("1", "never", 20), 21);
  EXPECT_EQ(states("1", "1epoch", 2), 4);
  EXPECT_EQ(states("1", "1epoch", 2, false), 3);  // there is nothing to evaluate on
  EXPECT_EQ(states("never", "1epoch", 9), 4);     // each evaluation may be the best
  EXPECT_EQ(states("10m", "never", 2), 3);
  EXPECT_EQ(states("10m", "2epochs", 1), 3);
  EXPECT_EQ(states("10m", "never", 1000), 4);  // how many there will be is not known
  EXPECT_EQ(states("1", "1", INT64_MAX), 100);
  EXPECT_EQ(states("1", "1", 2, true, 2), 2);
  EXPECT_EQ(states("1", "1", 2, true, 0), 1);
}

}  // namespace
}  // namespace bertrain
