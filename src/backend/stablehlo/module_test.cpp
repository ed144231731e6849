// The text of modules: signature, stacks, loops, replicas, constants.
#include "backend/stablehlo/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/scope.h"

namespace bertrain {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Graph primitives(const Graph& graph) {
  return expand(graph, [](const Node& node) { return is_emitted(node); });
}

// Each layer multiplies by its weight, after a first one outside the loop; weights are updated from
// their gradients.
Graph training(int64_t layers) {
  Recording r({true, DType::f32});
  Graph& g = r.graph();
  Tensor batch = g.input("batch/x", {DType::f32, {2, 3}}, Placement::split);
  Tensor first = r.scope().param("first", {2, 3}, {Init::ones, 0});
  Tensor x = repeat(
      r.scope() / "net", static_cast<int>(layers), batch * first,
      [](const Scope& s, Tensor h) {
        return tanh(matmul(h, s.param("w", {3, 3}, {Init::ones, 0})));
      },
      false);
  Tensors wanted;
  for (const Parameter& p : r.parameters()) wanted.push_back(p.master);
  Tensors slopes = gradients(reduce_sum(x, {0, 1}), wanted);
  for (size_t i = 0; i < slopes.size(); ++i) {
    TurnGuard turn(g, pass_of("exchange", r.parameters()[i].turn));
    slopes[i] = all_reduce_sum(slopes[i]);
  }
  Tensor norm = sum_of_squares(slopes);
  for (size_t i = 0; i < slopes.size(); ++i) {
    const Parameter& p = r.parameters()[i];
    TurnGuard turn(g, pass_of("update", p.turn));
    g.output(p.name, p.master - slopes[i]);
  }
  g.output("norm", norm);
  return primitives(g);
}

TEST(Module, LayersEnterAndLeaveAsOneArrayInTheSameMemory) {
  Module module = emit_module(training(4), {1, 2});
  ASSERT_EQ(module.arguments.size(), 3u);
  const Slot& batch = module.arguments[0];
  EXPECT_EQ(batch.names, std::vector<std::string>{"batch/x"});
  EXPECT_EQ(batch.placement, Placement::split);
  EXPECT_EQ(batch.replaced_by, -1);
  const Slot& weights = module.arguments[2];
  EXPECT_TRUE(weights.stacked);
  EXPECT_THAT(weights.names, ::testing::ElementsAre("net/layer_0/w", "net/layer_1/w",
                                                    "net/layer_2/w", "net/layer_3/w"));
  EXPECT_EQ(weights.type, (ArrayType{DType::f32, {4, 3, 3}}));
  ASSERT_GE(weights.replaced_by, 0);
  EXPECT_EQ(module.results[static_cast<size_t>(weights.replaced_by)].names, weights.names);
  EXPECT_THAT(module.text, HasSubstr("stablehlo.while"));
  EXPECT_THAT(module.text, HasSubstr("tf.aliasing_output"));
  // The update of all layers is one subtraction, outside any loop.
  EXPECT_THAT(module.text, HasSubstr("stablehlo.subtract %arg2"));
}

TEST(Module, UnrolledEachLayerIsAnArgument) {
  Module module = emit_module(training(4), {1, 0});
  EXPECT_EQ(module.arguments.size(), 6u);
  for (size_t i = 1; i < 6; ++i) {
    EXPECT_FALSE(module.arguments[i].stacked);
    EXPECT_GE(module.arguments[i].replaced_by, 0);
  }
  EXPECT_THAT(module.text, Not(HasSubstr("stablehlo.while")));
}

TEST(Module, LoopsMakeTheTextOfManyLayersNoLonger) {
  size_t four = emit_module(training(4), {1, 2}).text.size();
  size_t forty = emit_module(training(40), {1, 2}).text.size();
  EXPECT_LT(forty, four + four / 2);
}

TEST(Module, SumsOverReplicasAreCollectivesOnlyWhereThereAreSome) {
  EXPECT_THAT(emit_module(training(2), {4, 0}).text, HasSubstr("dense<[[0, 1, 2, 3]]>"));
  EXPECT_THAT(emit_module(training(2), {1, 0}).text, Not(HasSubstr("all_reduce")));
}

TEST(Module, ConstantsKeepTheirBits) {
  Graph g;
  g.output("third", g.constant(make_array<float>({2}, std::vector<float>{1.0f / 3, -0.0f})));
  g.output("flags", g.constant(make_array<uint32_t>({2}, std::vector<uint32_t>{1, 0xFFFFFFFFu})));
  g.output("same", full(g, {2, 2}, 0.1));
  std::string text = emit_module(g, {}).text;
  EXPECT_THAT(text, HasSubstr("dense<\"0xABAAAA3E00000080\"> : tensor<2xf32>"));
  EXPECT_THAT(text, HasSubstr("dense<\"0x01000000FFFFFFFF\"> : tensor<2xui32>"));
  EXPECT_THAT(text, HasSubstr("dense<0x3DCCCCCD>"));
}

TEST(Module, AnInputThatNothingReadsIsNoArgument) {
  Graph g;
  g.input("idle", {DType::f32, {2}});
  g.output("y", exp(g.input("x", {DType::f32, {2}})));
  Module module = emit_module(g, {});
  ASSERT_EQ(module.arguments.size(), 1u);
  EXPECT_EQ(module.arguments[0].names[0], "x");
}

TEST(Module, CompositesMustBeExpanded) {
  Graph g;
  g.output("y", gelu(g.input("x", {DType::f32, {2}})));
  EXPECT_THROW(emit_module(g, {}), std::logic_error);
}

}  // namespace
}  // namespace bertrain
