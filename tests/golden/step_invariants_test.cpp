// What must not change the result of a step: layout, micro-batches, repetition, recomputing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

#include "tiny_bert.h"

namespace bertrain {
namespace {

class StepInvariants : public testing::TestWithParam<std::tuple<NamedBackend, std::string>> {
 protected:
  StepInvariants() : golden(std::get<1>(GetParam())), backend(std::get<0>(GetParam()).make()) {}
  void SetUp() override {
    if (!backend) GTEST_SKIP() << kNoPlugin;
  }

  struct Run {
    std::vector<double> losses, norms;
    Named<Array> state;
  };
  // Some steps from the golden's weights, each on the same micro-batches.
  Run train(const std::vector<Batch>& micro, uint64_t steps, uint64_t seed = 17) {
    auto task = golden.task();
    StepOptions options = golden.step_options();
    options.seed = seed;
    options.compute = compute;
    auto state = make_state(golden, *task, *backend, options.optimizer.get());
    StepRunner runner(*task, *state, options);
    Run run;
    for (uint64_t i = 0; i < steps; ++i) {
      StepResult result = runner.run(i, micro);
      run.losses.push_back(result.loss);
      run.norms.push_back(result.gradient_norm);
    }
    run.state = state->snapshot();
    return run;
  }
  void turn_dropout_on() {
    golden.config.hidden_dropout_prob = 0.1;
    golden.config.attention_probs_dropout_prob = 0.2;
  }
  static void expect_near(const Run& a, const Run& b, double bound) {
    for (size_t i = 0; i < a.losses.size(); ++i) {
      EXPECT_NEAR(a.losses[i], b.losses[i], bound * std::fabs(a.losses[i])) << "step " << i;
      EXPECT_NEAR(a.norms[i], b.norms[i], 10 * bound * a.norms[i]) << "step " << i;
    }
  }

  Golden golden;
  std::unique_ptr<Backend> backend;
  DType compute = DType::f32;
};

TEST_P(StepInvariants, PackedIsPadded) {
  Run packed = train({make_batch(golden, {})}, 6);
  expect_near(packed, train({make_batch(golden, {.padded = true, .rows = 6})}, 6), 1e-6);
  expect_near(packed, train({make_batch(golden, {.rows = 2, .filling = 5})}, 6), 1e-6);
}

TEST_P(StepInvariants, DropoutDoesNotSeeTheLayout) {
  turn_dropout_on();
  Run packed = train({make_batch(golden, {})}, 4);
  expect_near(packed, train({make_batch(golden, {.padded = true, .rows = 6})}, 4), 1e-6);
  expect_near(packed, train({make_batch(golden, {.rows = 3, .filling = 6})}, 4), 1e-6);
}

TEST_P(StepInvariants, DropoutDoesNotSeeMicroBatches) {
  turn_dropout_on();
  Run whole = train(split_batch(golden, {6}), 4);
  expect_near(whole, train(split_batch(golden, {3, 3}), 4), 1e-6);
  expect_near(whole, train(split_batch(golden, {1, 5}, 2), 4), 1e-6);
  expect_near(whole, train(split_batch(golden, {1, 1, 1, 1, 1, 1}), 4), 1e-6);
  // The masks do matter, and are others with another seed and at another step.
  Run other = train(split_batch(golden, {6}), 4, 18);
  EXPECT_GT(std::fabs(other.losses[0] - whole.losses[0]), 2e-5 * whole.losses[0]);
  EXPECT_NE(whole.losses[0], whole.losses[1]);  // the rate of step 0 is 0
}

TEST_P(StepInvariants, AccumulationGivesTheSameWeights) {
  Run whole = train(split_batch(golden, {6}), 6);
  for (const auto& counts : {std::vector<int64_t>{3, 3}, {4, 2}, {2, 2, 2}}) {
    Run parts = train(split_batch(golden, counts, 1), 6);
    expect_near(whole, parts, 1e-6);
    for (const auto& [name, value] : whole.state) {
      if (is_key_bias(name)) continue;
      EXPECT_LE(difference(parts.state.at(name), value), 2e-6) << name;
    }
  }
}

// Eight examples at once, or two at a time: the same gradient and the same update.
TEST_P(StepInvariants, EightAtOnceAreFourTimesTwo) {
  auto task = golden.task();
  std::vector<Example> examples = golden.examples();
  for (size_t from : {size_t{0}, size_t{4}}) {  // two more: the words of others in reverse
    Example more = examples[from];
    std::ranges::reverse(std::get<std::vector<int64_t>>(more["input_ids"]));
    more.erase("row");
    examples.push_back(std::move(more));
  }
  StepOptions options = golden.step_options();
  auto step = [&](const std::vector<int64_t>& counts) {
    auto state = make_state(golden, *task, *backend, options.optimizer.get());
    StepRunner runner(*task, *state, options);
    StepResult result = runner.run(5, split_examples(*task, examples, counts));
    return std::pair(result, state->snapshot());
  };
  // A plugin adds up f32 in an order of its own for each shape.
  double tolerance = std::get<0>(GetParam()).is_plugin() ? 4e-6 : 1e-6;
  auto [whole, at_once] = step({8});
  auto [parts, summed] = step({2, 2, 2, 2});
  EXPECT_NEAR(parts.loss, whole.loss, 1e-6 * whole.loss);
  EXPECT_NEAR(parts.gradient_norm, whole.gradient_norm, 1e-6 * whole.gradient_norm);
  // adam_m after one step is a tenth of the clipped gradient; adam_v is of its square, in which a
  // difference counts twice.
  for (const auto& [name, value] : at_once) {
    if (is_key_bias(name)) continue;
    double bound = name.ends_with("/adam_v") ? 2 * tolerance : tolerance;
    EXPECT_LE(relative_difference(summed.at(name), value), bound) << name;
  }
}

TEST_P(StepInvariants, RepeatedRunsHaveTheSameBits) {
  turn_dropout_on();
  for (const auto& counts : {std::vector<int64_t>{6}, {2, 4}}) {
    Run first = train(split_batch(golden, counts), 3),
        second = train(split_batch(golden, counts), 3);
    EXPECT_EQ(first.losses, second.losses);
    EXPECT_EQ(first.norms, second.norms);
    for (const auto& [name, value] : first.state) {
      const Array& again = second.state.at(name);
      EXPECT_EQ(std::memcmp(value.bytes.get(), again.bytes.get(), value.byte_size()), 0) << name;
    }
  }
}

TEST_P(StepInvariants, RecomputingLayersChangesNothing) {
  turn_dropout_on();
  Run kept = train(split_batch(golden, {6}), 3);
  golden.config.recompute = true;
  expect_near(kept, train(split_batch(golden, {6}), 3), 1e-6);
}

TEST_P(StepInvariants, HalfPrecisionStaysNear) {
  Run full = train({make_batch(golden, {.filling = 2})}, 6);
  compute = DType::bf16;
  Run half = train({make_batch(golden, {.filling = 2})}, 6);
  for (size_t i = 0; i < full.losses.size(); ++i) {
    EXPECT_NEAR(half.losses[i], full.losses[i], 0.01 * full.losses[i]) << "step " << i;
  }
  EXPECT_NE(half.losses, full.losses);
}

TEST_P(StepInvariants, NonFiniteGradientsLeaveTheStateAsItWas) {
  auto task = golden.task();
  StepOptions options = golden.step_options();
  auto state = make_state(golden, *task, *backend, options.optimizer.get());
  std::string broken = "bert/pooler/dense/bias";
  std::vector<float> bias(32, 0.0F);
  bias[3] = std::numeric_limits<float>::quiet_NaN();
  state->set(broken, make_array<float>({32}, bias));
  Named<Array> before = state->snapshot();
  StepRunner runner(*task, *state, options);
  for (const auto& counts : {std::vector<int64_t>{6}, {3, 3}}) {
    StepResult result = runner.run(5, split_batch(golden, counts));
    EXPECT_FALSE(result.finite());
    for (const auto& [name, value] : before) {
      Array now = state->get(name);
      EXPECT_EQ(std::memcmp(value.bytes.get(), now.bytes.get(), value.byte_size()), 0) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, StepInvariants,
    testing::Combine(testing::ValuesIn(golden_backends()),
                     testing::Values(std::string("tf1_pretrain"), std::string("tf1_classify"))),
    [](const auto& info) { return std::get<0>(info.param).name + "_" + std::get<1>(info.param); });

// Every program takes a plugin seconds to compile, so one of its ways and one model stand for all.
INSTANTIATE_TEST_SUITE_P(Plugin, StepInvariants,
                         testing::Values(std::tuple(plugin_backends()[1],
                                                    std::string("tf1_pretrain"))),
                         [](const auto& info) { return std::get<0>(info.param).name; });

}  // namespace
}  // namespace bertrain
