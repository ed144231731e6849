// Loops found in recordings: what turns share, carry and hold of their own.
#include "backend/stablehlo/roll.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/scope.h"

namespace bertrain {
namespace {

constexpr int64_t kTurns = 4;

// x ← tanh(x · w_i) + shift for each layer i; the loss is the last sum.
struct Chain {
  Recording recording{{true, DType::f32}};
  Tensor x, loss;
  Tensors weights;

  explicit Chain(int64_t turns = kTurns, int64_t odd_one = -1) {
    Graph& g = recording.graph();
    Tensor shift = g.input("shift", {DType::f32, {2, 3}});
    x = repeat(
        recording.scope() / "chain", static_cast<int>(turns), g.input("x", {DType::f32, {2, 3}}),
        [&](const Scope& s, Tensor h) {
          Tensor w = s.param("w", {3, 3}, {Init::ones, 0});
          weights.push_back(w);
          Tensor y = tanh(matmul(h, w)) + shift;
          bool odd = s.path() == fmt::format("chain/layer_{}", odd_one);
          return odd ? y * 0.5 : y;
        },
        false);
    loss = reduce_sum(x, {0, 1});
    g.output("loss", loss);
  }
};

Graph primitives(const Graph& graph) {
  return expand(graph, [](const Node&) { return false; });
}

std::vector<size_t> counts(const Rolled& rolled) {
  std::vector<size_t> all;
  for (const Loop& loop : rolled.loops) all.push_back(loop.count());
  return all;
}

TEST(Roll, ForwardIsOneLoopThatCarriesTheHiddenState) {
  Chain chain;
  Graph graph = primitives(chain.recording.graph());
  Rolled rolled = roll(graph, 2);
  ASSERT_EQ(rolled.loops.size(), 1u);
  const Loop& loop = rolled.loops[0];
  EXPECT_EQ(loop.count(), 4u);
  EXPECT_FALSE(loop.backwards);
  ASSERT_EQ(loop.carried.size(), 1u);
  EXPECT_EQ(loop.carried[0].first, graph.find_input("x"));
  ASSERT_EQ(loop.invariants.size(), 1u);
  EXPECT_EQ(loop.invariants[0], graph.find_input("shift"));
  ASSERT_EQ(loop.stacked.size(), 1u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(loop.stacked[0][i], graph.find_input(fmt::format("chain/layer_{}/w", i)));
  }
  EXPECT_EQ(rolled.items.size(), 2u) << "the loop and the sum";
  EXPECT_EQ(rolled.items[0].node, nullptr);
}

TEST(Roll, TheBackwardPassRunsFromTheLastLayerOn) {
  Chain chain;
  Graph& g = chain.recording.graph();
  Tensors wanted;
  for (const Parameter& p : chain.recording.parameters()) wanted.push_back(p.master);
  Tensors slopes = gradients(chain.loss, wanted);
  for (size_t i = 0; i < slopes.size(); ++i) g.output(fmt::format("d{}", i), slopes[i]);
  Graph graph = primitives(g);
  Rolled rolled = roll(graph, 2);
  ASSERT_EQ(rolled.loops.size(), 2u);
  // Layer 0 needs no gradient of its input, so its turn may be shorter than the others.
  auto backward = std::find_if(rolled.loops.begin(), rolled.loops.end(),
                               [](const Loop& l) { return l.backwards; });
  ASSERT_NE(backward, rolled.loops.end());
  EXPECT_GE(backward->count(), 3u);
  EXPECT_EQ(backward->running(0), backward->count() - 1);
  EXPECT_EQ(backward->carried.size(), 1u);
}

TEST(Roll, ATurnThatDiffersStaysOutside) {
  Chain chain(5, 0);
  EXPECT_EQ(counts(roll(primitives(chain.recording.graph()), 2)), std::vector<size_t>{4});
  Chain middle(5, 2);
  EXPECT_EQ(counts(roll(primitives(middle.recording.graph()), 2)), std::vector<size_t>{2});
  EXPECT_EQ(counts(roll(primitives(middle.recording.graph()), 3)), std::vector<size_t>{});
}

TEST(Roll, ShortLoopsAreUnrolled) {
  Chain chain;
  Graph graph = primitives(chain.recording.graph());
  Rolled rolled = roll(graph, 5);
  EXPECT_TRUE(rolled.loops.empty());
  for (const Item& item : rolled.items) EXPECT_NE(item.node, nullptr);
}

TEST(Roll, EveryNodeThatAnOutputNeedsRunsAfterItsInputs) {
  Chain chain;
  Graph graph = primitives(chain.recording.graph());
  Rolled rolled = roll(graph, 2);
  std::vector<bool> done(graph.nodes().size(), false);
  auto ready = [&](Tensor t) {
    return !t || t.node()->op == &kInput || t.node()->op == &kConstant ||
           done[static_cast<size_t>(t.node()->id)];
  };
  for (const Item& item : rolled.items) {
    std::vector<std::vector<Node*>> turns = {{item.node}};
    if (item.node == nullptr) {
      turns.clear();
      const Loop& loop = rolled.loops[item.loop];
      for (size_t i = 0; i < loop.count(); ++i) turns.push_back(loop.turns[loop.running(i)]);
    }
    for (const auto& turn : turns) {
      for (const Node* node : turn) {
        for (Tensor t : node->inputs) EXPECT_TRUE(ready(t)) << node->op->name;
        done[static_cast<size_t>(node->id)] = true;
      }
    }
  }
  for (const Output& output : graph.outputs()) EXPECT_TRUE(ready(output.value));
}

// What waits for itself through a node outside cannot be a loop, though its turns are alike.
TEST(Roll, ALoopThroughTheOutsideIsNone) {
  Graph g;
  Tensor x = g.input("x", {DType::f32, {2}});
  for (int64_t i = 0; i < 3; ++i) {
    Tensor y;
    {
      TurnGuard turn(g, {"outer", i});
      y = tanh(x);
    }
    x = exp(y);
  }
  g.output("y", x);
  Graph graph = primitives(g);
  Rolled rolled = roll(graph, 2);
  EXPECT_TRUE(rolled.loops.empty());
  EXPECT_EQ(rolled.items.size(), 6u);
}

TEST(Roll, EqualConstantsAreTheBodysAndOthersAreStacked) {
  Graph g;
  Tensor x = g.input("x", {DType::f32, {2}});
  for (int64_t i = 0; i < 3; ++i) {
    TurnGuard turn(g, {"layers", i});
    Tensor own = g.constant(make_array<float>({2}, std::vector<float>{1.0f, 2.0f + float(i)}));
    Tensor same = g.constant(make_array<float>({2}, std::vector<float>{1.0f, 2.0f}));
    x = x * own + same;
  }
  g.output("y", x);
  Graph graph = primitives(g);
  Rolled rolled = roll(graph, 2);
  ASSERT_EQ(counts(rolled), std::vector<size_t>{3});
  EXPECT_EQ(rolled.loops[0].stacked.size(), 1u);
  EXPECT_TRUE(rolled.loops[0].invariants.empty());
}

}  // namespace
}  // namespace bertrain
