// The numbers of the original program from this one's tasks and packer: outputs, gradients, twenty
// steps of training and the weights after them, packed and padded, on every backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "model/bert.h"
#include "model/heads.h"
#include "task/encoder_inputs.h"
#include "tiny_bert.h"

namespace bertrain {
namespace {

class ReferenceRun : public testing::TestWithParam<std::tuple<NamedBackend, std::string>> {
 protected:
  ReferenceRun()
      : golden(std::get<1>(GetParam())),
        backend(std::get<0>(GetParam()).make()),
        task(golden.task()) {}
  void SetUp() override {
    if (!backend) GTEST_SKIP() << kNoPlugin;
  }

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

// What the task's evaluation gives, and beside it what the reference shows of the model inside.
Named<Array> outputs_of(const Golden& golden, const Task& task, const State& state,
                        const Batch& batch) {
  Named<Array> all = EvaluationRunner(task, state).run({&batch, 1}).front().predictions;
  Recording recording({false, DType::f32});
  Graph& graph = recording.graph();
  Scope scope = recording.scope();
  Inputs fields;
  for (const auto& [name, type] : batch_types(task.schema(), batch.capacity)) {
    fields.emplace(name, graph.input("batch/" + name, type));
  }
  Tensor hidden = bert(scope, golden.config, encoder_slots(fields));
  Tensor pooled = pooled_output(scope, golden.config, hidden, fields.at("first_slot"));
  graph.output("sequence_output", hidden);
  graph.output("pooled_output", pooled);
  if (golden.pretrains()) {
    Tensor words = masked_lm_logits(scope, golden.config, hidden, fields.at("target_slot"));
    graph.output("masked_lm_logits", words);
    graph.output("next_sentence_logits", next_sentence_logits(scope, golden.config, pooled));
  } else {
    graph.output("logits", classifier_logits(scope, {3, 0}, pooled, fields.at("example_number")));
  }
  Backend& backend = state.backend();
  DeviceArrays inputs;
  for (const Node* node : graph.nodes()) {
    if (node->op != &kInput) continue;
    auto ours = state.arrays().find(node->name);
    inputs[node->name] =
        ours != state.arrays().end()
            ? ours->second
            : backend.put(batch.arrays.at(node->name.substr(std::string("batch/").size())),
                          Placement::replicate);
  }
  for (const auto& [name, array] : backend.compile(graph)->run(inputs)) {
    all[name] = backend.get(*array);
  }
  return all;
}

constexpr double kForwardBound = 2e-5;

// got[row] against want[want_row] of arrays [N, C] (C of 1: [N]).
void expect_row(std::span<const float> got, size_t row, std::span<const float> want,
                size_t want_row, size_t width) {
  for (size_t i = 0; i < width; ++i) {
    ASSERT_NEAR(got[row * width + i], want[want_row * width + i], kForwardBound)
        << "row " << want_row << ", number " << i;
  }
}

void expect_hidden(const Named<Array>& got, const Golden& golden, const Batch& batch) {
  Array want = golden.array("sequence_output"), pooled = golden.array("pooled_output");
  auto width = static_cast<size_t>(want.type.shape[2]);
  size_t compared = 0;
  std::span<const int32_t> example = batch.arrays.at("example").as<int32_t>();
  for (size_t slot = 0; slot < example.size(); ++slot) {
    if (batch.arrays.at("is_key").as<int32_t>()[slot] == 0) continue;
    auto row = static_cast<size_t>(batch.row[static_cast<size_t>(example[slot])]);
    auto position = static_cast<size_t>(batch.arrays.at("position").as<int32_t>()[slot]);
    expect_row(got.at("sequence_output").as<float>(), slot, want.as<float>(),
               row * kGoldenLength + position, width);
    ++compared;
  }
  EXPECT_EQ(compared, static_cast<size_t>(batch.tokens));
  for (size_t e = 0; e < batch.row.size(); ++e) {
    expect_row(got.at("pooled_output").as<float>(), e, pooled.as<float>(),
               static_cast<size_t>(batch.row[e]), width);
  }
}

void expect_classes(const Named<Array>& got, const Golden& golden, const Batch& batch) {
  Array logits = golden.array("logits"), labels = golden.array("label_ids");
  std::vector<double> want = log_probabilities(logits);
  for (size_t e = 0; e < batch.row.size(); ++e) {
    auto row = static_cast<size_t>(batch.row[e]);
    expect_row(got.at("logits").as<float>(), e, logits.as<float>(), row, 3);
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(got.at("probabilities").as<float>()[e * 3 + c], std::exp(want[row * 3 + c]),
                  kForwardBound);
    }
    auto label = static_cast<size_t>(labels.as<int32_t>()[row]);
    EXPECT_NEAR(got.at("loss").as<float>()[e], -want[row * 3 + label], kForwardBound);
  }
}

// Log-probabilities [N, C] of row `want_row`, the loss of its label, and the likeliest class.
void expect_choice(const std::vector<double>& got, size_t row, const Array& want, size_t want_row,
                   int32_t label, float loss, int32_t prediction) {
  auto classes = static_cast<size_t>(want.type.shape[1]);
  std::span<const float> mine = want.as<float>().subspan(want_row * classes, classes);
  for (size_t c = 0; c < classes; ++c) {
    ASSERT_NEAR(got[row * classes + c], mine[c], kForwardBound);
  }
  EXPECT_NEAR(loss, -mine[static_cast<size_t>(label)], kForwardBound);
  EXPECT_EQ(prediction, std::ranges::max_element(mine) - mine.begin());
}

void expect_pretraining(const Named<Array>& got, const Golden& golden, const Batch& batch) {
  Array next = golden.array("next_sentence_log_probs"), words = golden.array("masked_lm_log_probs");
  Array weights = golden.array("masked_lm_weights"), ids = golden.array("masked_lm_ids");
  Array labels = golden.array("next_sentence_labels");
  auto next_got = log_probabilities(got.at("next_sentence_logits"));
  auto words_got = log_probabilities(got.at("masked_lm_logits"));
  size_t target = 0;
  for (size_t e = 0; e < batch.row.size(); ++e) {
    auto row = static_cast<size_t>(batch.row[e]);
    expect_choice(next_got, e, next, row, labels.as<int32_t>()[row],
                  got.at("next_sentence_loss").as<float>()[e],
                  got.at("next_sentence_prediction").as<int32_t>()[e]);
    for (size_t t = 4 * row; t < 4 * (row + 1); ++t) {  // those without weight are left out
      if (weights.as<float>()[t] == 0) continue;
      expect_choice(words_got, target, words, t, ids.as<int32_t>()[t],
                    got.at("masked_lm_loss").as<float>()[target],
                    got.at("masked_lm_prediction").as<int32_t>()[target]);
      ++target;
    }
  }
  EXPECT_EQ(target, 14U);
}

TEST_P(ReferenceRun, ForwardOutputsAtRealSlotsAndTargets) {
  auto state = make_state(golden, *task, *backend);
  for (const Layout& layout : {kPacked, kPadded}) {
    Batch batch = make_batch(golden, layout);
    ASSERT_EQ(std::ssize(batch.row), kGoldenExamples);
    Named<Array> got = outputs_of(golden, *task, *state, batch);
    expect_hidden(got, golden, batch);
    if (golden.pretrains()) {
      expect_pretraining(got, golden, batch);
    } else {
      expect_classes(got, golden, batch);
    }
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
    auto losses = evaluation.run({&batch, 1}).front().losses;
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
    testing::Combine(testing::ValuesIn(golden_and_plugin_backends()),
                     testing::Values(std::string("tf1_pretrain"), std::string("tf1_classify"))),
    [](const auto& info) { return std::get<0>(info.param).name + "_" + std::get<1>(info.param); });

}  // namespace
}  // namespace bertrain
