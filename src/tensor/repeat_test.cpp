// Repeated layers: numbered scopes, bodies marked for recording again, with the same keys.
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/scope.h"

namespace bertrain {
namespace {

Tensor layer(const Scope& s, Tensor h) {
  auto guard = s.enter();
  Graph& g = s.graph();
  Tensor number = full(g, {2}, 0, DType::u32), position = full(g, {2}, 0, DType::i32);
  Tensor w = s.param("w", {3, 3}, {Init::truncated_normal, 0.02});
  return dropout(tanh(linear(h, w, {})), {s.dropout_key(), number, position, 0.5});
}

TEST(Repeat, RecordsUnderNumberedScopes) {
  Recording r({.training = true});
  Tensor x = r.graph().input("x", {DType::f32, {2, 3}});
  Tensor y = repeat(r.scope() / "encoder", 3, x, layer, false);
  EXPECT_EQ(y.node()->scope, "encoder/layer_2");
  ASSERT_EQ(r.parameters().size(), 3u);
  EXPECT_EQ(r.parameters()[1].name, "encoder/layer_1/w");
  for (const Node* node : r.graph().nodes()) EXPECT_EQ(node->body, -1);
}

TEST(Repeat, RecordsBodiesAgainBehindBarriersWithTheSameKeys) {
  Recording r({.training = true});
  Graph& g = r.graph();
  Tensor x = g.input("x", {DType::f32, {2, 3}});
  Tensor loss = reduce_sum(repeat(r.scope(), 3, x, layer, true), {0, 1});
  size_t forward = g.nodes().size();
  g.output("dx", gradients(loss, {x})[0]);
  std::multiset<Tensor, decltype([](Tensor a, Tensor b) { return a.node() < b.node(); })> keys;
  int barriers = 0, linears = 0;
  for (size_t i = 0; i < g.nodes().size(); ++i) {
    const Node& node = *g.nodes()[i];
    if (node.op == &kDropout) keys.insert(node.inputs[1]);
    if (i < forward) continue;
    barriers += node.op == &kBarrier;
    linears += node.op == &kTanh;
    // What is recorded again never reads the forward values of a body, but through a barrier.
    for (Tensor t : node.inputs) {
      if (node.op == &kBarrier || !t || t.node()->op == &kInput) continue;
      if (t.node()->op == &kConstant || t == loss) continue;
      EXPECT_GE(t.node()->id, static_cast<int64_t>(forward)) << print(g);
    }
  }
  EXPECT_EQ(barriers, 3);
  EXPECT_EQ(linears, 3);
  for (const DropoutKey& k : r.dropout_keys()) {
    // Forward, recorded again, and the gradient's mask.
    EXPECT_EQ(keys.count(g.find_input(k.input)), 3u);
  }
}

TEST(Repeat, RefusesALayerThatChangesTheType) {
  Recording r({});
  Tensor x = r.graph().input("x", {DType::f32, {2, 3}});
  EXPECT_THROW(
      repeat(
          r.scope(), 1, x, [](const Scope&, Tensor h) { return reduce_sum(h, {0}); }, false),
      Error);
}

}  // namespace
}  // namespace bertrain
