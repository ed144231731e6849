// Expansion: again and again, keeping what is kept, dropping what nothing reads.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tensor/graph.h"
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/scope.h"

namespace bertrain {
namespace {

int count(const Graph& g, const Op& op) {
  int n = 0;
  for (const Node* node : g.nodes()) n += node->op == &op;
  return n;
}

Graph small_model() {
  Graph g;
  Tensor x = g.input("x", {DType::f32, {3, 4}}), gamma = g.input("gamma", {DType::f32, {4}});
  g.input("unread", {DType::f32, {}});
  Scope::Guard guard(g, "model");
  exp(x);  // nothing reads it
  g.output("y", add_and_norm(x, gelu(x), gamma, gamma, {}, 1e-3).y, Placement::split);
  return g;
}

TEST(Expand, ReplacesWhatIsRefusedAgainAndAgain) {
  Graph g = expand(small_model(), [](const Node&) { return false; });
  for (const Node* node : g.nodes()) EXPECT_EQ(node->op->expand, nullptr) << node->op->name;
  EXPECT_EQ(count(g, kExp), 0) << "what nothing reads is left out";
  EXPECT_TRUE(g.find_input("unread")) << "but inputs stay";
  EXPECT_EQ(g.nodes().back()->scope, "model");
  ASSERT_EQ(g.outputs().size(), 1u);
  EXPECT_EQ(g.outputs()[0].placement, Placement::split);
  EXPECT_EQ(&g.outputs()[0].value.graph(), &g);
}

TEST(Expand, KeepsWhatItIsToldTo) {
  Graph g = expand(small_model(), [](const Node& n) { return n.op == &kLayerNorm; });
  EXPECT_EQ(count(g, kLayerNorm), 1);
  EXPECT_EQ(count(g, kAddAndNorm), 0);
  EXPECT_EQ(count(g, kGelu), 0);
  Graph whole = expand(small_model(), [](const Node&) { return true; });
  EXPECT_EQ(count(whole, kAddAndNorm), 1);
  EXPECT_EQ(whole.nodes().size(), 5u);
}

std::vector<ArrayType> infer(const Node& n) { return {n.inputs[0].type()}; }
Tensors wrong(const Node& n) { return {convert(n.inputs[0], DType::bf16)}; }
const Op kWrong{"wrong", infer, wrong, nullptr};

TEST(Expand, ChecksThatAnExpansionHasTheOpsTypes) {
  Graph g;
  g.output("y", g.apply(kWrong, {g.input("x", {DType::f32, {2}})})[0]);
  EXPECT_THROW(expand(g, [](const Node&) { return false; }), std::logic_error);
}

}  // namespace
}  // namespace bertrain
