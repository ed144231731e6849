// The numbers of the original program: outputs, gradients, twenty steps of training and the weights
// after them, packed and padded, on every backend.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "tiny_bert.h"

namespace bertrain {
namespace {

class ReferenceRun : public testing::TestWithParam<std::tuple<NamedBackend, std::string>> {
 protected:
  ReferenceRun()
      : golden(std::get<1>(GetParam())),
        backend(std::get<0>(GetParam()).make()),
        task(golden.task()) {}

  Golden golden;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Task> task;
};

constexpr Layout kPacked{.filling = 3};
constexpr Layout kPadded{.padded = true, .rows = 6};

// log softmax of each row of logits [N, C].
std::vector<double> log_probabilities(const Array& logits) {
  std::span<const float> x = logits.as<float>();
  auto classes = static_cast<size_t>(logits.type.shape[1]);
  std::vector<double> result;
  for (size_t row = 0; row < x.size() / classes; ++row) {
    double sum = 0;
    for (size_t c = 0; c < classes; ++c) sum += std::exp(double{x[row * classes + c]});
    for (size_t c = 0; c < classes; ++c) {
      result.push_back(double{x[row * classes + c]} - std::log(sum));
    }
  }
  return result;
}

TEST_P(ReferenceRun, ForwardOutputsAtRealSlotsAndTargets) {
  constexpr double kBound = 2e-5;
  auto state = make_state(golden, *task, *backend);
  EvaluationRunner runner(*task, *state);
  for (const Layout& layout : {kPacked, kPadded}) {
    Batch batch = make_batch(golden, layout);
    EvaluationRunner::Result result = runner.run(batch);

    Array want = golden.array("sequence_output");  // [6, 24, H]
    Array got = result.predictions.at("sequence_output");
    size_t width = static_cast<size_t>(want.type.shape[2]), length = 24, compared = 0;
    for (size_t slot = 0; slot < static_cast<size_t>(got.size()) / width; ++slot) {
      if (batch.arrays.at("is_key").as<int32_t>()[slot] == 0) continue;
      size_t from = (static_cast<size_t>(batch.arrays.at("example").as<int32_t>()[slot]) * length +
                     static_cast<size_t>(batch.arrays.at("position").as<int32_t>()[slot])) *
                    width;
      for (size_t h = 0; h < width; ++h) {
        ASSERT_NEAR(got.as<float>()[slot * width + h], want.as<float>()[from + h], kBound);
      }
      ++compared;
    }
    EXPECT_EQ(compared, static_cast<size_t>(batch.tokens));

    Array pooled = golden.array("pooled_output");
    for (size_t i = 0; i < pooled.as<float>().size(); ++i) {
      EXPECT_NEAR(result.predictions.at("pooled_output").as<float>()[i], pooled.as<float>()[i],
                  kBound);
    }
    if (!golden.pretrains()) {
      Array logits = golden.array("logits");
      for (size_t i = 0; i < logits.as<float>().size(); ++i) {
        EXPECT_NEAR(result.predictions.at("logits").as<float>()[i], logits.as<float>()[i], kBound);
      }
      continue;
    }
    Array next = golden.array("next_sentence_log_probs");
    auto next_got = log_probabilities(result.predictions.at("next_sentence_logits"));
    for (size_t i = 0; i < next.as<float>().size(); ++i) {
      EXPECT_NEAR(next_got[i], next.as<float>()[i], kBound);
    }
    // Packing keeps the weighted targets in their order.
    Array words = golden.array("masked_lm_log_probs"), weights = golden.array("masked_lm_weights");
    auto words_got = log_probabilities(result.predictions.at("masked_lm_logits"));
    size_t vocabulary = static_cast<size_t>(words.type.shape[1]), at = 0;
    for (size_t t = 0; t < weights.as<float>().size(); ++t) {
      bool weighted = weights.as<float>()[t] != 0;
      if (!weighted && !layout.padded) continue;
      for (size_t v = 0; weighted && v < vocabulary; ++v) {
        ASSERT_NEAR(words_got[at * vocabulary + v], words.as<float>()[t * vocabulary + v], kBound);
      }
      ++at;
    }
    EXPECT_GE(at, 10U);
  }
}

TEST_P(ReferenceRun, EveryGradient) {
  auto state = make_state(golden, *task, *backend);
  for (const Layout& layout : {kPacked, kPadded}) {
    Named<Array> got =
        gradients_of(golden, *task, *state, golden.step_options(), make_batch(golden, layout));
    for (const Parameter& p : state->parameters()) {
      if (is_key_bias(p.name)) continue;
      EXPECT_LE(relative_difference(got.at(p.name), golden.gradients->read(p.name)), 1e-4)
          << p.name;
    }
    for (const auto& [name, type] : golden.gradients->tensors()) {
      EXPECT_TRUE(got.contains(name)) << name;
    }
  }
}

TEST_P(ReferenceRun, TwentySteps) {
  for (const Layout& layout : {kPacked, kPadded}) {
    StepOptions options = golden.step_options();
    auto state = make_state(golden, *task, *backend, options.optimizer.get());
    StepRunner runner(*task, *state, options);
    Batch batch = make_batch(golden, layout);
    const Json& steps = golden.trajectory.at("trajectory");
    ASSERT_EQ(steps.size(), 20U);
    for (uint64_t i = 0; i < steps.size(); ++i) {
      StepResult result = runner.run(i, {batch});
      double loss = steps[i].at("loss"), norm = steps[i].at("global_norm");
      EXPECT_NEAR(result.loss, loss, 2e-4 * loss) << "step " << i;
      EXPECT_NEAR(result.gradient_norm, norm, 1e-3 * norm) << "step " << i;
      EXPECT_TRUE(result.finite());
    }
    for (const auto& [name, type] : state->types()) {
      if (is_key_bias(name)) continue;
      EXPECT_LE(difference(state->get(name), golden.trained->read(name)), 1e-4) << name;
    }
    EvaluationRunner evaluation(*task, *state);
    Named<double> sums = normalisers(task->terms(), {batch});
    double loss = 0;
    auto losses = evaluation.run(batch).losses;
    for (const LossTerm& term : task->terms()) {
      std::span<const float> values = losses.at(term.name).as<float>();
      std::span<const float> weights = batch.arrays.at(term.weight).as<float>();
      for (size_t k = 0; k < values.size(); ++k) {
        loss += double{values[k]} * weights[k] / sums.at(term.name);
      }
    }
    double final_loss = golden.trajectory.at("final_loss");
    EXPECT_NEAR(loss, final_loss, 2e-4 * final_loss);
  }
}

// What clip_norm_rows is for: the norm of the summed gradient is another, in either run.
TEST_P(ReferenceRun, NormOfRowsDiffersFromTheDenseOne) {
  StepOptions options = golden.step_options();
  options.clip_norm_rows = !options.clip_norm_rows;
  auto state = make_state(golden, *task, *backend, options.optimizer.get());
  StepRunner runner(*task, *state, options);
  double norm = runner.run(0, {make_batch(golden, kPacked)}).gradient_norm;
  double wanted = golden.trajectory.at("trajectory")[0].at("global_norm");
  EXPECT_GT(std::fabs(norm - wanted), 1e-3 * wanted);
}

INSTANTIATE_TEST_SUITE_P(
    All, ReferenceRun,
    testing::Combine(testing::ValuesIn(golden_backends()),
                     testing::Values(std::string("tf1_pretrain"), std::string("tf1_classify"))),
    [](const auto& info) { return std::get<0>(info.param).name + "_" + std::get<1>(info.param); });

}  // namespace
}  // namespace bertrain
