// The losses of tables of texts and their gradients against their formulas, on every backend; logits
// as large as a float's exponent bears.
#include <gtest/gtest.h>

#include <cmath>

#include "task/table/target.h"
#include "tensor/ops/ops.h"
#include "tiny_bert.h"

namespace bertrain {
namespace {

using Doubles = std::vector<double>;

struct Computed {
  Named<Array> values;  // the predictions, and "gradient" of the summed loss by the logits [E, C]
};

class TargetLosses : public testing::TestWithParam<NamedBackend> {
 protected:
  void SetUp() override {
    backend_ = GetParam().make();
    if (!backend_) GTEST_SKIP() << kNoPlugin;
  }

  Computed compute(const TextTarget& target, const std::vector<float>& logits,
                   const Named<Array>& batch) {
    int64_t classes = target.outputs(), rows = std::ssize(logits) / classes;
    Recording recording({.training = true});
    Graph& graph = recording.graph();
    Tensor x = graph.input("logits", {DType::f32, {rows, classes}});
    Inputs inputs;
    for (const auto& [name, value] : batch) inputs[name] = graph.input(name, value.type);
    Outputs outputs = target.build(true, x, inputs);
    Tensor loss = outputs.losses.at(target.term().name);
    for (const auto& [name, value] : outputs.predictions) graph.output(name, value);
    graph.output("trained", loss);
    graph.output("gradient", gradients(reduce_sum(loss, {0}), {x})[0]);
    auto program = backend_->compile(graph);
    DeviceArrays in;
    in["logits"] = backend_->put(make_array<float>({rows, classes}, logits), Placement::replicate);
    for (const auto& [name, value] : batch) in[name] = backend_->put(value, Placement::replicate);
    Computed computed;
    for (const auto& [name, value] : program->run(in)) {
      computed.values.emplace(name, backend_->get(*value));
    }
    return computed;
  }

  static void expect_near(const Array& found, const Doubles& wanted, const char* what) {
    auto values = found.as<float>();
    ASSERT_EQ(values.size(), wanted.size()) << what;
    for (size_t i = 0; i < wanted.size(); ++i) {
      double bound = 2e-6 * std::max(1.0, std::abs(wanted[i]));
      EXPECT_NEAR(static_cast<double>(values[i]), wanted[i], bound) << what << " " << i;
    }
  }

  std::unique_ptr<Backend> backend_;
};

const std::vector<float> kLogits = {0.5F, -1.25F, 3.0F, 80.0F, -90.0F, 0.0F};  // [2, 3]

TEST_P(TargetLosses, OfManyLabels) {
  auto target = make_multi_label({});
  target->learn({"a,b,c"}, {"t.tsv", "label"});
  std::vector<float> marks = {1, 0, 1, 0, 1, 1};
  Computed found = compute(*target, kLogits, {{"labels", make_array<float>({2, 3}, marks)}});
  Doubles losses(2), probabilities, gradient;
  for (size_t i = 0; i < kLogits.size(); ++i) {
    auto x = static_cast<double>(kLogits[i]), y = static_cast<double>(marks[i]);
    double p = 1 / (1 + std::exp(-x));
    // log(1 + e^x) without overflow
    losses[i / 3] += (std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))) - x * y) / 3;
    probabilities.push_back(p);
    gradient.push_back((p - y) / 3);
  }
  expect_near(found.values.at("trained"), losses, "loss");
  expect_near(found.values.at("probabilities"), probabilities, "probability");
  expect_near(found.values.at("gradient"), gradient, "gradient");
}

TEST_P(TargetLosses, OfANumber) {
  auto target = make_regression({});
  std::vector<float> values = {1.0F, -2.0F}, logits = {3.5F, -2.5F};
  Computed found = compute(*target, logits, {{"value", make_array<float>({2}, values)}});
  expect_near(found.values.at("trained"), {6.25, 0.25}, "loss");
  expect_near(found.values.at("value"), {3.5, -2.5}, "value");
  expect_near(found.values.at("gradient"), {5.0, -1.0}, "gradient");
}

TEST_P(TargetLosses, OfAClassWithSmoothing) {
  TargetOptions options;
  options.label_smoothing = 0.1;
  auto target = make_single_label(options);
  target->learn({"a", "b", "c"}, {"t.tsv", "label"});
  std::vector<float> logits = {0.5F, -1.25F, 3.0F, 8.0F, -9.0F, 0.0F};
  std::vector<int32_t> label = {0, 2};
  Computed found = compute(*target, logits, {{"label", make_array<int32_t>({2}, label)}});
  Doubles plain, smooth, gradient;
  for (size_t e = 0; e < 2; ++e) {
    double sum = 0, mean = 0;
    for (size_t c = 0; c < 3; ++c) {
      sum += std::exp(static_cast<double>(logits[e * 3 + c]));
      mean += static_cast<double>(logits[e * 3 + c]) / 3;
    }
    auto chosen = static_cast<double>(logits[e * 3 + static_cast<size_t>(label[e])]);
    plain.push_back(std::log(sum) - chosen);
    smooth.push_back(std::log(sum) - 0.9 * chosen - 0.1 * mean);
    for (size_t c = 0; c < 3; ++c) {
      double p = std::exp(static_cast<double>(logits[e * 3 + c])) / sum;
      gradient.push_back(p - 0.1 / 3 - (c == static_cast<size_t>(label[e]) ? 0.9 : 0));
    }
  }
  expect_near(found.values.at("loss"), plain, "loss");
  expect_near(found.values.at("trained"), smooth, "smoothed loss");
  expect_near(found.values.at("gradient"), gradient, "gradient");
}

INSTANTIATE_TEST_SUITE_P(Backends, TargetLosses, testing::ValuesIn(golden_and_plugin_backends()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bertrain
