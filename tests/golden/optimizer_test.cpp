// Recorded updates and clipping against the formulas in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "optim/adamw.h"
#include "optim/clip.h"
#include "tensor/ops/ops.h"
#include "tiny_bert.h"

namespace bertrain {
namespace {

class RecordedOptimizer : public testing::TestWithParam<NamedBackend> {
 protected:
  std::unique_ptr<Backend> backend = GetParam().make();
  void SetUp() override {
    if (!backend) GTEST_SKIP() << kNoPlugin;
  }

  float scale_of(float norm, double clip_norm) {
    Graph graph;
    graph.output("scale", clip_scale(graph.input("norm", {DType::f32, {}}), clip_norm));
    DeviceArrays inputs = {{"norm", backend->put(scalar(norm), Placement::replicate)}};
    DeviceArrays outputs = backend->compile(graph)->run(inputs);
    return backend->get(*outputs.at("scale")).as<float>()[0];
  }
};

TEST_P(RecordedOptimizer, ClipsOnlyWhatIsLongerThanTheBound) {
  EXPECT_FLOAT_EQ(scale_of(0, 1), 1);
  EXPECT_FLOAT_EQ(scale_of(0.5F, 1), 1);
  EXPECT_FLOAT_EQ(scale_of(4, 1), 0.25F);
  EXPECT_FLOAT_EQ(scale_of(4, 2), 0.5F);
  EXPECT_FLOAT_EQ(scale_of(4, 0), 1);
  for (double clip_norm : {0.0, 1.0}) {
    EXPECT_TRUE(std::isnan(scale_of(std::numeric_limits<float>::infinity(), clip_norm)));
    EXPECT_TRUE(std::isnan(scale_of(std::numeric_limits<float>::quiet_NaN(), clip_norm)));
  }
}

// Three steps of each preset on four numbers, with a clipping factor of 1/2.
TEST_P(RecordedOptimizer, AdamWFollowsItsFormulas) {
  for (const char* preset : {"google", "tf2", "hf"}) {
    for (const char* name : {"kernel", "bias"}) {
      AdamWOptions options = adamw_preset(preset);
      options.weight_decay = 0.05;
      auto optimizer = make_adamw(options);
      Graph graph;
      ArrayType type{DType::f32, {4}}, single{DType::f32, {}};
      Parameter p{name, {4}, {}, graph.input(name, type)};
      Named<Tensor> slots, scalars;
      for (const auto& [suffix, shape] : optimizer->slots(p)) {
        slots[suffix] = graph.input(suffix, type);
      }
      for (const auto& [scalar_name, value] : optimizer->scalars(0, 0)) {
        scalars[scalar_name] = graph.input("scalar/" + scalar_name, single);
      }
      Optimizer::Update update = optimizer->update(p, graph.input("grad", type), slots, scalars,
                                                   graph.input("scale", single));
      graph.output(name, update.param);
      for (const auto& [suffix, value] : update.slots) graph.output(suffix, value);
      auto program = backend->compile(graph);

      std::vector<double> w = {0.5, -0.25, 1, 0}, m(4, 0), v(4, 0);
      auto put = [&](const Array& a) { return backend->put(a, Placement::replicate); };
      DeviceArrays state = {
          {name, put(make_array<float>({4}, std::vector<float>(w.begin(), w.end())))},
          {"adam_m", put(zeros(type))},
          {"adam_v", put(zeros(type))}};
      for (uint64_t step = 0; step < 3; ++step) {
        float rate = 0.01F * static_cast<float>(step + 1);
        std::vector<float> g = {0.3F, -2, 0, 1e-4F * static_cast<float>(step)};
        DeviceArrays inputs = state;
        for (const auto& [scalar_name, value] : optimizer->scalars(step, rate)) {
          inputs["scalar/" + scalar_name] = put(scalar(value));
        }
        inputs["grad"] = put(make_array<float>({4}, g));
        inputs["scale"] = put(scalar(0.5F));
        state = program->run(inputs);

        bool decays = std::string_view(name) == "kernel";
        double t = static_cast<double>(step) + 1;
        double first = 1 - std::pow(0.9, t), second = 1 - std::pow(0.999, t);
        Array got = backend->get(*state.at(name));
        for (size_t i = 0; i < w.size(); ++i) {
          double clipped = 0.5 * g[i];
          m[i] = 0.9 * m[i] + 0.1 * clipped;
          v[i] = 0.999 * v[i] + 0.001 * clipped * clipped;
          double move = m[i] / (std::sqrt(v[i]) + 1e-6);
          if (std::string_view(preset) == "tf2") move *= std::sqrt(second) / first;
          if (std::string_view(preset) == "hf") {
            move = m[i] / first / (std::sqrt(v[i] / second) + 1e-8);
          }
          w[i] -= rate * (move + (decays ? 0.05 * w[i] : 0));
          EXPECT_NEAR(got.as<float>()[i], w[i], 1e-6) << preset << " " << name << " step " << step;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecordedOptimizer, testing::ValuesIn(golden_and_plugin_backends()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bertrain
