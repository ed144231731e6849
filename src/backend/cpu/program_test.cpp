// A whole training step of a small network, run three times, equals the reference backend's; memory rules hold.
#include "backend/cpu/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

Array noise(Shape shape, uint32_t salt, double deviation = 0.5) {
  std::vector<float> values(static_cast<size_t>(elements(shape)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(deviation * truncated_normal({salt, 1}, i));
  }
  return make_array<float>(std::move(shape), values);
}

// x [7, 5] → gelu layer → add_and_norm → logits [7, 3] → cross entropy; AdamW on every parameter.
struct Network {
  Graph graph;
  Named<Array> state, batch;

  Network() {
    Named<Shape> shapes = {{"w1", {5, 8}}, {"b1", {8}},   {"w2", {8, 5}},   {"b2", {5}},
                           {"gamma", {5}}, {"beta", {5}}, {"table", {3, 5}}};
    Tensors params, m, v;
    uint32_t salt = 0;
    for (const auto& [name, shape] : shapes) {
      params.push_back(graph.input(name, {DType::f32, shape}));
      m.push_back(graph.input(name + "/m", {DType::f32, shape}));
      v.push_back(graph.input(name + "/v", {DType::f32, shape}));
      state[name] = noise(shape, ++salt);
      state[name + "/m"] = state[name + "/v"] = zeros({DType::f32, shape});
    }
    Tensor b1 = params[0], b2 = params[1], beta = params[2], gamma = params[3], table = params[4],
           w1 = params[5], w2 = params[6];
    Tensor x = graph.input("x", {DType::f32, {7, 5}}),
           label = graph.input("label", {DType::i32, {7}});
    batch["x"] = noise({7, 5}, 99);
    batch["label"] = make_array<int32_t>({7}, std::vector<int32_t>{0, 1, 2, 0, 1, 2, 0});
    Tensor f = linear(gelu(linear(x, w1, b1)), w2, b2);
    Tensor y = add_and_norm(x, f, gamma, beta, {}, 1e-12).y;
    CrossEntropy loss = softmax_cross_entropy(matmul(y, table, {false, true, DType::f32}), label);
    Tensor total = reduce_sum(loss.loss, {0});
    Tensors grads = gradients(total, params);
    Tensor rate = full(graph, {}, 0.01), zero = full(graph, {}, 0), one = full(graph, {}, 1);
    size_t i = 0;
    for (const auto& [name, shape] : shapes) {
      Updated u = adamw(params[i], grads[i], m[i], v[i], rate, rate, full(graph, {}, 1e-6), one,
                        0.9, 0.999);
      graph.output(name, u.param);
      graph.output(name + "/m", u.m);
      graph.output(name + "/v", u.v);
      ++i;
    }
    graph.output("loss", total);
    graph.output("squares", sum_of_squares(grads) + zero);
  }

  // The state and results after some steps.
  Named<Array> after(Backend& backend, int steps, bool profiled = false) {
    std::unique_ptr<Program> program = backend.compile(graph);
    DeviceArrays arrays, results;
    for (const auto& [name, value] : state) arrays[name] = backend.put(value, Placement::replicate);
    for (int i = 0; i < steps; ++i) {
      for (const auto& [name, value] : batch)
        arrays[name] = backend.put(value, Placement::replicate);
      results = program->run(arrays);
      for (const auto& [name, array] : results) {
        if (state.contains(name)) arrays[name] = array;
      }
    }
    if (profiled) {
      EXPECT_GT(program->profile(arrays).at("product"), 0);
      return {};
    }
    Named<Array> values;
    for (const auto& [name, array] : results) values[name] = backend.get(*array);
    return values;
  }
};

void expect_near(const Named<Array>& a, const Named<Array>& b, float tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, array] : a) {
    std::span<const float> x = array.as<float>(), y = b.at(name).as<float>();
    ASSERT_EQ(x.size(), y.size()) << name;
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], tolerance) << name << " at " << i;
  }
}

TEST(CpuProgram, TrainsAsTheReferenceDoes) {
  Network network;
  auto cpu = make_cpu_backend({2, 0, nullptr, {}});
  auto reference = make_reference_backend();
  expect_near(network.after(*cpu, 3), network.after(*reference, 3), 1e-5f);
}

TEST(CpuProgram, SameBitsAtOneAndTwoThreads) {
  Network network;
  auto one = make_cpu_backend({1, 0, nullptr, {}}), two = make_cpu_backend({2, 0, nullptr, {}});
  expect_near(network.after(*one, 3), network.after(*two, 3), 0.0f);
}

TEST(CpuProgram, ProfilesByOp) {
  Network network;
  network.after(*make_cpu_backend({2, 0, nullptr, {}}), 1, true);
}

TEST(CpuProgram, AReplacedInputIsDead) {
  Network network;
  auto cpu = make_cpu_backend({1, 0, nullptr, {}});
  auto program = cpu->compile(network.graph);
  DeviceArrays arrays;
  for (const auto& [name, value] : network.state)
    arrays[name] = cpu->put(value, Placement::replicate);
  for (const auto& [name, value] : network.batch)
    arrays[name] = cpu->put(value, Placement::replicate);
  DeviceArrays results = program->run(arrays);
  EXPECT_THROW(cpu->get(*arrays["w1"]), std::logic_error);
  EXPECT_NO_THROW(cpu->get(*arrays["x"]));
  EXPECT_NO_THROW(cpu->get(*results["w1"]));
}

TEST(CpuProgram, AnInterruptedRunLeavesItsInputsAsTheyWere) {
  Network network;
  int calls = 0;
  auto cpu = make_cpu_backend({1, 0, nullptr, [&] {
                                 if (++calls == 6) throw error("stop");
                               }});
  auto program = cpu->compile(network.graph);
  DeviceArrays arrays;
  for (const auto& [name, value] : network.state)
    arrays[name] = cpu->put(value, Placement::replicate);
  for (const auto& [name, value] : network.batch)
    arrays[name] = cpu->put(value, Placement::replicate);
  EXPECT_THROW(program->run(arrays), Error);
  for (const auto& [name, value] : network.state) {
    Array kept = cpu->get(*arrays[name]);
    EXPECT_TRUE(std::equal(kept.raw().begin(), kept.raw().end(), value.raw().begin())) << name;
  }
}

TEST(CpuProgram, MissingUnknownAndWrongInputsAreNamed) {
  Graph graph;
  Tensor x = graph.input("x", {DType::f32, {2, 2}});
  graph.output("y", x + x);
  auto cpu = make_cpu_backend({1, 0, nullptr, {}});
  auto program = cpu->compile(graph);
  auto expect = [&](DeviceArrays inputs, std::string_view text) {
    try {
      program->run(std::move(inputs));
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_NE(std::string_view(e.what()).find(text), std::string_view::npos) << e.what();
    }
  };
  auto right = cpu->put(zeros({DType::f32, {2, 2}}), Placement::replicate);
  expect({}, "'x' of the program is missing");
  expect({{"x", cpu->put(zeros({DType::f32, {2}}), Placement::replicate)}},
         "'x' must be f32 [2, 2]");
  expect({{"x", right}, {"z", right}}, "no input 'z'");
}

// An input returned under another name, an output asked for twice, and a view of an input keep their own values.
TEST(CpuProgram, OutputsNeverShareMemory) {
  Graph graph;
  Tensor a = graph.input("a", {DType::f32, {2}}), b = graph.input("b", {DType::f32, {2}});
  Tensor sum = a + b;
  graph.output("a", sum);
  graph.output("again", sum);
  graph.output("old", reshape(a, {2, 1}));
  graph.output("b", b);
  auto cpu = make_cpu_backend({1, 0, nullptr, {}});
  auto results = cpu->compile(graph)->run(
      {{"a", cpu->put(make_array<float>({2}, std::vector<float>{1, 2}), {})},
       {"b", cpu->put(make_array<float>({2}, std::vector<float>{10, 20}), {})}});
  auto values = [&](const char* name) {
    Array v = cpu->get(*results.at(name));
    return std::vector<float>(v.as<float>().begin(), v.as<float>().end());
  };
  EXPECT_EQ(values("a"), (std::vector<float>{11, 22}));
  EXPECT_EQ(values("again"), (std::vector<float>{11, 22}));
  EXPECT_EQ(values("old"), (std::vector<float>{1, 2}));
  EXPECT_EQ(values("b"), (std::vector<float>{10, 20}));
}

}  // namespace
}  // namespace bertrain
