// Steps in which parts of the model are frozen or learn more slowly, on every backend.
#include "optim/rate_factors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "tiny_bert.h"

namespace bertrain {
namespace {

constexpr int64_t kLayers = 5;  // with two of them frozen a loop has a part of its stack to update

class RateFactorSteps : public testing::TestWithParam<NamedBackend> {
 protected:
  RateFactorSteps() { golden.config.num_hidden_layers = kLayers; }
  void SetUp() override {
    if (!backend) GTEST_SKIP() << kNoPlugin;
  }

  struct Run {
    Named<Array> before, after;  // after: with slots
    double norm = 0;
  };
  // Steps on the golden's examples, in micro-batches of so many, without clipping.
  Run train(Backend& on, const RateFactors& factors, uint64_t steps,
            const std::vector<int64_t>& counts = {6}, double weight_decay = 0) {
    StepOptions options = golden.step_options();
    AdamWOptions adamw = adamw_preset("google");
    adamw.weight_decay = weight_decay;
    adamw.factors = factors;
    options.optimizer = make_adamw(adamw);
    options.schedule = {.peak_rate = 1e-2, .steps = 100, .warmup = 0, .decay = Decay::constant};
    options.clip_norm = 0;
    auto task = golden.task();
    State state(on, parameters_of(*task), options.optimizer.get());
    state.initialise(3);
    Run run;
    run.before = state.snapshot(false);
    StepRunner runner(*task, state, options);
    for (uint64_t i = 0; i < steps; ++i) {
      run.norm = runner.run(i, split_batch(golden, counts)).gradient_norm;
    }
    run.after = state.snapshot();
    return run;
  }

  Golden golden{"tf1_classify"};
  std::unique_ptr<Backend> backend = GetParam().make();
};

bool equal_bytes(const Array& a, const Array& b) {
  return std::memcmp(a.bytes.get(), b.bytes.get(), a.byte_size()) == 0;
}

TEST_P(RateFactorSteps, FrozenPartsKeepTheirBytesAndTheRestLearnsAsOnTheReference) {
  auto reference = make_reference_backend();
  const std::pair<const char*, std::vector<int64_t>> cases[] = {
      {"embeddings,0-1", {6}}, {"1,3", {4, 2}}, {"encoder", {6}}};
  for (const auto& [parts, counts] : cases) {
    SCOPED_TRACE(parts);
    RateFactors factors = parse_rate_factors(parts, 1, kLayers);
    Run run = train(*backend, factors, 3, counts), want = train(*reference, factors, 3);
    EXPECT_NEAR(run.norm, want.norm, 1e-3 * want.norm);
    int64_t frozen = 0, learnt = 0;
    for (const auto& [name, first] : run.before) {
      bool learns = rate_factor(factors, name) > 0;
      EXPECT_EQ(run.after.contains(name + "/adam_m"), learns) << name;
      EXPECT_EQ(equal_bytes(first, run.after.at(name)), !learns) << name;
      // Adam makes a step of either sign from the noise of a gradient that is zero.
      if (learns && !is_key_bias(name)) {
        EXPECT_LT(difference(run.after.at(name), want.after.at(name)), 1e-3) << name;
      }
      ++(learns ? learnt : frozen);
    }
    EXPECT_GT(frozen, 0);
    EXPECT_GT(learnt, 0);
  }
}

TEST_P(RateFactorSteps, NormsCountWhatLearnsAlone) {
  RateFactors none{.layers = kLayers, .frozen_layers = {}}, some = none;
  some.embeddings_frozen = true;
  EXPECT_LT(train(*backend, some, 1).norm, train(*backend, none, 1).norm);
}

// The first step of Adam is the rate times a function of the gradient: the factors are seen as they
// are.
TEST_P(RateFactorSteps, EachLayerStepsByItsShareOfTheRate) {
  RateFactors whole{.layers = kLayers, .frozen_layers = {}}, falling = whole;
  falling.layer_decay = 0.5;
  Run plain = train(*backend, whole, 1), slow = train(*backend, falling, 1);
  for (const auto& [name, first] : plain.before) {
    if (is_key_bias(name)) continue;
    double factor = rate_factor(falling, name);
    auto before = first.as<float>(), fast = plain.after.at(name).as<float>(),
         slower = slow.after.at(name).as<float>();
    for (size_t i = 0; i < before.size(); ++i) {
      double step = double{fast[i]} - before[i];
      ASSERT_NEAR(double{slower[i]} - before[i], factor * step, 2e-7 + 1e-4 * std::fabs(step))
          << name << " " << i;
    }
  }
}

// What decay takes off beside the step of the gradient is a share of the weight, by rate and factor.
TEST_P(RateFactorSteps, EachLayerDecaysByItsShareOfTheRate) {
  constexpr double kDecay = 5, kRate = 1e-2;
  RateFactors falling{.layers = kLayers, .frozen_layers = {}};
  falling.layer_decay = 0.5;
  Run plain = train(*backend, falling, 1), decayed = train(*backend, falling, 1, {6}, kDecay);
  AdamWOptions google = adamw_preset("google");
  double most = 0;
  for (const auto& [name, first] : plain.before) {
    double share = is_decayed(google, name) ? kRate * kDecay * rate_factor(falling, name) : 0;
    auto before = first.as<float>(), without = plain.after.at(name).as<float>(),
         with = decayed.after.at(name).as<float>();
    for (size_t i = 0; i < before.size(); ++i) {
      ASSERT_NEAR(double{without[i]} - with[i], share * before[i], 1e-6) << name << " " << i;
      most = std::max(most, std::fabs(share * before[i]));
    }
  }
  EXPECT_GT(most, 1e-4) << "decay is seen beside what rounding leaves";
}

INSTANTIATE_TEST_SUITE_P(Backends, RateFactorSteps, testing::ValuesIn(golden_and_plugin_backends()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bertrain
