// A request to stop between the parts of a batch: the step was not, and can be made again.
#include <gtest/gtest.h>

#include <csignal>

#include "tiny_bert.h"
#include "train/signals.h"

namespace bertrain {
namespace {

class Stop : public testing::TestWithParam<NamedBackend> {};

TEST_P(Stop, BetweenMicroBatchesTheStepIsUndone) {
  Golden golden("tf1_pretrain");
  auto backend = GetParam().make();
  auto task = golden.task();
  StepOptions options = golden.step_options();
  auto state = make_state(golden, *task, *backend, options.optimizer.get());
  StepRunner runner(*task, *state, options);
  std::vector<Batch> parts = split_batch(golden, {2, 2, 2});
  runner.run(0, parts);
  Named<Array> before = state->snapshot();
  StepResult unbroken;
  {
    StopSignals signals;
    std::raise(SIGTERM);
    EXPECT_THROW(runner.run(1, parts), Stopped);
    for (const auto& [name, value] : state->snapshot()) {
      EXPECT_EQ(difference(value, before.at(name)), 0) << name;
    }
  }
  StepResult again = runner.run(1, parts);
  auto fresh = make_state(golden, *task, *backend, options.optimizer.get());
  StepRunner other(*task, *fresh, options);
  other.run(0, parts);
  unbroken = other.run(1, parts);
  EXPECT_EQ(again.loss, unbroken.loss);
  EXPECT_EQ(again.gradient_norm, unbroken.gradient_norm);
  for (const auto& [name, value] : state->snapshot()) {
    EXPECT_EQ(difference(value, fresh->get(name)), 0) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Stop, testing::ValuesIn(golden_backends()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bertrain
