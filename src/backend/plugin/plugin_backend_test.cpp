// Arrays and programs on a plugin for the CPU: layers in stacks, moves between them, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "backend/backend.h"
#include "base/error.h"
#include "tensor/ops/ops.h"
#include "tensor/scope.h"

namespace bertrain {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int kTurns = 5;

Array matrix(float first) {
  std::vector<float> values;
  for (int i = 0; i < 9; ++i) values.push_back(first + 0.1F * static_cast<float>(i % 4));
  return make_array<float>({3, 3}, values);
}

std::string weight(int layer) { return fmt::format("net/layer_{}/w", layer); }

// x ← tanh(x w_i), in layer 1 twice that; outputs are the loss, each layer's new weight and the
// state after layer 2.
Graph network() {
  Recording r({true, DType::f32});
  Graph& g = r.graph();
  Tensor middle;
  Tensor x = repeat(
      r.scope() / "net", kTurns, g.input("x", {DType::f32, {2, 3}}),
      [&](const Scope& s, Tensor h) {
        Tensor y = tanh(matmul(h, s.param("w", {3, 3}, {Init::ones, 0})));
        if (s.path() == "net/layer_1") y = y * 2;
        if (s.path() == "net/layer_2") middle = y;
        return y;
      },
      false);
  Tensor loss = reduce_sum(x * x, {0, 1});
  Tensors wanted;
  for (const Parameter& p : r.parameters()) wanted.push_back(p.master);
  Tensors slopes = gradients(loss, wanted);
  for (size_t i = 0; i < slopes.size(); ++i) {
    const Parameter& p = r.parameters()[i];
    TurnGuard turn(g, pass_of("update", p.turn));
    g.output(p.name, p.master - slopes[i] * 0.1);
  }
  g.output("norm", sum_of_squares(slopes));
  g.output("twice", sum_of_squares({slopes[3], slopes[3], slopes[4]}));
  g.output("loss", loss);
  g.output("middle", middle);
  return expand(g, [](const Node&) { return false; });
}

// Layer 2 alone, halved.
Graph one_layer(const std::string& output = weight(2)) {
  Graph g;
  g.output(output, g.input(weight(2), {DType::f32, {3, 3}}) * 0.5);
  return g;
}

DeviceArrays first_inputs(Backend& backend) {
  DeviceArrays inputs;
  Array x = make_array<float>({2, 3}, std::vector<float>{1, -1, 0.5F, 0.25F, 2, -0.5F});
  inputs["x"] = backend.put(x, Placement::replicate);
  for (int i = 0; i < kTurns; ++i) {
    inputs[weight(i)] = backend.put(matrix(0.1F * static_cast<float>(i)), Placement::replicate);
  }
  return inputs;
}

class PluginBackend : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("BERTRAIN_CPU_PLUGIN");
    if (path == nullptr || *path == '\0') {
      GTEST_SKIP() << "BERTRAIN_CPU_PLUGIN names no plugin for the CPU (./dev plugin cpu)";
    }
    target.path = path;
    target.least_turns = 2;
  }
  std::unique_ptr<Backend> open(int devices = 1) {
    target.devices = devices;
    BackendOptions options;
    options.between_calls = [this] {
      if (std::exchange(stops, false)) throw Error("stopped");
    };
    return make_plugin_backend(target, options);
  }
  bool stops = false;  // before the next run
  PluginTarget target;
};

void expect_near(const Array& got, const Array& want, const std::string& what) {
  ASSERT_EQ(got.type, want.type) << what;
  for (size_t i = 0; i < got.as<float>().size(); ++i) {
    float value = want.as<float>()[i];
    EXPECT_NEAR(got.as<float>()[i], value, 1e-5 * std::max(1.0F, std::fabs(value)))
        << what << " " << i;
  }
}

// Layers 2 to 4 are a loop, 0 and 1 are not: stacks begin in the middle, and are made of both.
TEST_F(PluginBackend, LoopsOfAPartOfTheLayersGiveTheNumbersOfPlainLoops) {
  Graph graph = network();
  auto reference = make_reference_backend();
  DeviceArrays want = reference->compile(graph)->run(first_inputs(*reference));
  for (int64_t least : {0, 2, 3}) {
    target.least_turns = least;
    auto backend = open();
    auto program = backend->compile(graph);
    DeviceArrays got = program->run(first_inputs(*backend));
    ASSERT_EQ(got.size(), want.size());
    for (const auto& [name, array] : want) {
      expect_near(backend->get(*got.at(name)), reference->get(*array), name);
    }
    // Once more from its own results, which are layers of stacks by now.
    DeviceArrays again = first_inputs(*backend), again_reference = first_inputs(*reference);
    for (int i = 0; i < kTurns; ++i) {
      again[weight(i)] = got.at(weight(i));
      again_reference[weight(i)] =
          backend->get(*got.at(weight(i))).size() > 0
              ? reference->put(backend->get(*got.at(weight(i))), Placement::replicate)
              : nullptr;
    }
    DeviceArrays second = program->run(again);
    DeviceArrays second_reference = reference->compile(graph)->run(again_reference);
    for (const auto& [name, array] : second_reference) {
      expect_near(backend->get(*second.at(name)), reference->get(*array), "second " + name);
    }
  }
}

// A state goes through programs that stack its values in different ways, is read and written between
// them, and is at each point what arrays by name make it on the reference backend.
TEST_F(PluginBackend, AStateIsUpdatedWhateverProgramsStack) {
  Graph graph = network();
  auto reference = make_reference_backend(), backend = open();
  std::vector<std::string> names;
  for (int i = 0; i < kTurns; ++i) names.push_back(weight(i));
  auto wanted = reference->compile(graph);
  auto looped = backend->compile(graph), single = backend->compile(one_layer());
  auto want_state = reference->make_state(), state = backend->make_state();
  DeviceArrays want_inputs = first_inputs(*reference), inputs = first_inputs(*backend);
  for (const std::string& name : names) {
    want_state->set(name, want_inputs.extract(name).mapped());
    state->set(name, inputs.extract(name).mapped());
  }
  for (int step = 0; step < 6; ++step) {
    SCOPED_TRACE(step);
    std::shared_ptr<DeviceArray> before;
    if (step == 2) before = state->arrays().at(weight(3));
    if (step == 4) {
      want_state->set(weight(1), reference->put(matrix(0.7F), Placement::replicate));
      state->set(weight(1), backend->put(matrix(0.7F), Placement::replicate));
    }
    // One that stacks nothing and has only one layer.
    if (step == 3) {
      reference->compile(one_layer())->update(*want_state, {weight(2)}, {});
      single->update(*state, {weight(2)}, {});
    }
    looped->send_ahead(inputs);
    DeviceArrays want = wanted->update(*want_state, names, want_inputs);
    DeviceArrays got = looped->update(*state, names, inputs);
    ASSERT_EQ(got.size(), want.size());
    for (const auto& [name, array] : want) {
      EXPECT_FALSE(name.starts_with("net/")) << name;
      expect_near(backend->get(*got.at(name)), reference->get(*array), name);
    }
    if (before) {
      EXPECT_THROW(backend->get(*before), std::logic_error);
    }
    if (step == 1 || step == 3) continue;  // the next update takes over without names
    for (const std::string& name : names) {
      expect_near(backend->get(*state->arrays().at(name)),
                  reference->get(*want_state->arrays().at(name)), name);
    }
  }
  EXPECT_THAT([&] { looped->update(*state, names, {}); },
              ThrowsMessage<Error>(HasSubstr("input 'x' of the program is missing")));
  inputs["y"] = inputs.at("x");
  EXPECT_THAT([&] { looped->update(*state, names, inputs); },
              ThrowsMessage<Error>(HasSubstr("the program has no input 'y'")));
}

// A run that was stopped before it began has changed nothing, whatever the state was kept as; and
// copies that another program cut out of it die with it.
TEST_F(PluginBackend, AStoppedUpdateLeavesTheState) {
  auto reference = make_reference_backend(), backend = open();
  auto wanted = reference->compile(network());
  auto looped = backend->compile(network()), reads = backend->compile(one_layer("read"));
  auto want_state = reference->make_state(), state = backend->make_state();
  DeviceArrays want_inputs = first_inputs(*reference), inputs = first_inputs(*backend);
  std::vector<std::string> names;
  for (int i = 0; i < kTurns; ++i) {
    names.push_back(weight(i));
    want_state->set(weight(i), want_inputs.extract(weight(i)).mapped());
    state->set(weight(i), inputs.extract(weight(i)).mapped());
  }
  const auto expect_same = [&] {
    for (const std::string& name : names) {
      expect_near(backend->get(*state->arrays().at(name)),
                  reference->get(*want_state->arrays().at(name)), name);
    }
  };
  for (int step = 0; step < 4; ++step) {
    SCOPED_TRACE(step);
    std::shared_ptr<DeviceArray> cut;
    if (step >= 2) {
      cut = state->arrays().at(weight(2));
      EXPECT_EQ(reads->update(*state, {weight(2)}, {}).size(), 1U);
    }
    if (step == 3) {
      want_state->set(weight(4), reference->put(matrix(0.3F), Placement::replicate));
      state->set(weight(4), backend->put(matrix(0.3F), Placement::replicate));
    }
    stops = true;
    EXPECT_THROW(looped->update(*state, names, inputs), Error);
    if (step != 1) expect_same();
    wanted->update(*want_state, names, want_inputs);
    looped->update(*state, names, inputs);
    if (cut) {
      EXPECT_THROW(backend->get(*cut), std::logic_error);
    }
    if (step != 0) expect_same();
  }
}

TEST_F(PluginBackend, AStateIsOfItsBackend) {
  auto backend = open(), other = open();
  auto state = other->make_state();
  EXPECT_THROW(backend->compile(one_layer())->update(*state, {weight(2)}, {}), std::logic_error);
  auto own = backend->make_state();
  EXPECT_THROW(backend->compile(one_layer())->update(*own, {weight(2)}, {}), std::logic_error);
}

TEST_F(PluginBackend, WhatAnOutputReplacedIsDead) {
  auto backend = open();
  auto program = backend->compile(network());
  DeviceArrays inputs = first_inputs(*backend);
  program->run(inputs);
  EXPECT_THROW(backend->get(*inputs.at(weight(2))), std::logic_error);
  EXPECT_THROW(program->run(inputs), std::logic_error);
  EXPECT_NO_THROW(backend->get(*inputs.at("x")));
}

TEST_F(PluginBackend, LayersFromTheHostAndFromAStackAreJoined) {
  Graph graph = network();
  auto backend = open();
  auto program = backend->compile(graph);
  DeviceArrays got = program->run(first_inputs(*backend));
  Array kept = backend->get(*got.at(weight(3)));
  DeviceArrays mixed = first_inputs(*backend), plain = first_inputs(*backend);
  mixed[weight(3)] = got.at(weight(3));
  plain[weight(3)] = backend->put(kept, Placement::replicate);
  DeviceArrays a = program->run(mixed), b = program->run(plain);
  for (const auto& [name, array] : b) {
    expect_near(backend->get(*a.at(name)), backend->get(*array), name);
  }
}

TEST_F(PluginBackend, InputsThatDoNotFitAreNamed) {
  auto backend = open();
  auto program = backend->compile(network());
  DeviceArrays fewer = first_inputs(*backend), more = first_inputs(*backend),
               other = first_inputs(*backend);
  fewer.erase("x");
  more["y"] = more["x"];
  other["x"] = backend->put(matrix(0), Placement::replicate);
  EXPECT_THAT([&] { program->run(fewer); }, ThrowsMessage<Error>(HasSubstr("'x'")));
  EXPECT_THAT([&] { program->run(more); }, ThrowsMessage<Error>(HasSubstr("'y'")));
  EXPECT_THAT([&] { program->run(other); },
              ThrowsMessage<Error>(HasSubstr("'x' must be f32 [2, 3], but is f32 [3, 3]")));
}

TEST_F(PluginBackend, SplitValuesGoInEqualPartsToTheDevices) {
  auto backend = open(2);
  Graph g;
  Tensor x = g.input("x", {DType::f32, {2}}, Placement::split);
  g.output("sum", all_reduce_sum(x));
  g.output("double", x + x, Placement::split);
  auto program = backend->compile(g);
  Array four = make_array<float>({4}, std::vector<float>{1, 2, 30, 40});
  DeviceArrays got = program->run({{"x", backend->put(four, Placement::split)}});
  expect_near(backend->get(*got.at("sum")), make_array<float>({2}, std::vector<float>{31, 42}),
              "sum");
  expect_near(backend->get(*got.at("double")),
              make_array<float>({4}, std::vector<float>{2, 4, 60, 80}), "double");
  EXPECT_THAT([&] { backend->put(matrix(0), Placement::split); },
              ThrowsMessage<Error>(HasSubstr("cannot be split evenly over 2 devices")));
  EXPECT_THAT(
      [&] {
        program->run({{"x", backend->put(four, Placement::replicate)}});
      },
      ThrowsMessage<Error>(HasSubstr("must be split over every device")));
}

}  // namespace
}  // namespace bertrain
