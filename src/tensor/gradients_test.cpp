// The reverse walk: what it adds up, what it leaves out, and in which types.
#include "tensor/graph.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"
#include "tensor/scope.h"

namespace bertrain {
namespace {

int count(const Graph& g, const Op& op, size_t from = 0) {
  int n = 0;
  for (const Node* node : g.nodes().subspan(from)) n += node->op == &op;
  return n;
}

TEST(Gradients, NeedAScalarLoss) {
  Graph g;
  Tensor x = g.input("x", {DType::f32, {2}});
  EXPECT_THROW(gradients(x, {x}), Error);
}

TEST(Gradients, AreZerosWhereTheLossDoesNotDepend) {
  Graph g;
  Tensor x = g.input("x", {DType::f32, {2}}), other = g.input("other", {DType::f32, {3}});
  Tensors d = gradients(reduce_sum(x * 2, {0}), {other, x});
  EXPECT_EQ(d[0].shape(), (Shape{3}));
  EXPECT_EQ(d[0].node()->op, &kBroadcast) << "a constant";
  EXPECT_EQ(d[1].shape(), (Shape{2}));
}

TEST(Gradients, OfTheLossItselfIsOne) {
  Graph g;
  Tensor x = g.input("x", {DType::f32, {}});
  EXPECT_EQ(gradients(x, {x})[0].node()->op, &kConstant);
}

TEST(Gradients, OfUsesAreAddedInRecordingOrder) {
  auto record = [](Graph& g) {
    Tensor x = g.input("x", {DType::f32, {2}});
    Tensor loss = reduce_sum(exp(x) + tanh(x) + x * x, {0});
    g.output("dx", gradients(loss, {x})[0]);
    return print(g);
  };
  Graph a, b;
  EXPECT_EQ(record(a), record(b));
}

TEST(Gradients, ReachIntermediateValuesAndGoOnPastThem) {
  Graph g;
  Tensor table = g.input("table", {DType::f32, {5, 3}}), ids = g.input("ids", {DType::i32, {2}});
  Tensor rows = gather_rows(table, ids);
  Tensors d = gradients(reduce_sum(rows * rows, {0, 1}), {rows, table});
  EXPECT_EQ(d[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(d[1].node()->op, &kScatterAddRows);
  EXPECT_EQ(d[1].node()->inputs[2], d[0]);
}

TEST(Gradients, LeaveOutWhatLeadsToNoneOfThem) {
  Graph g;
  Tensor x = g.input("x", {DType::f32, {4, 3}}), w = g.input("w", {DType::f32, {3, 2}});
  Tensor y = matmul(exp(x), w);
  size_t before = g.nodes().size();
  gradients(reduce_sum(y, {0, 1}), {w});
  EXPECT_EQ(count(g, kMultiply, before), 0) << "exp's gradient is not asked for";
}

TEST(Gradients, OfBf16WeightsStayF32UpToTheMaster) {
  Recording r({.training = true, .compute = DType::bf16});
  Graph& g = r.graph();
  Tensor x = g.input("x", {DType::bf16, {4, 3}});
  Tensor w = r.scope().param("w", {3, 2}, {}), b = r.scope().param("b", {2}, {});
  Tensor y = linear(x, w, b);
  Tensor loss = reduce_sum(y * y, {0, 1});
  Tensor dw = gradients(loss, {r.parameters()[0].master})[0];
  EXPECT_EQ(dw.dtype(), DType::f32);
  EXPECT_EQ(dw.node()->op, &kMatmul) << "not rounded to bf16 on the way";
  EXPECT_EQ(dw.node()->inputs[0].dtype(), DType::bf16);
}

// y = a² + a b as a composite without a gradient of its own.
std::vector<ArrayType> infer(const Node& n) { return {n.inputs[0].type()}; }
Tensors through(const Node& n) { return {n.inputs[0] * n.inputs[0] + n.inputs[0] * n.inputs[1]}; }
const Op kThrough{"through", infer, through, nullptr};

TEST(Gradients, GoThroughTheExpansionOfOpsThatHaveNone) {
  Graph g;
  Tensor a = g.input("a", {DType::f32, {}}), b = g.input("b", {DType::f32, {}});
  Tensors d = gradients(g.apply(kThrough, {a, b})[0], {a, b});
  EXPECT_EQ(d[0].node()->op, &kAdd);
  EXPECT_EQ(d[1].node()->op, &kMultiply);
}

TEST(Gradients, OfAValueGivenTwiceAreCountedOnce) {
  Graph g;
  Tensor a = g.input("a", {DType::f32, {}});
  size_t before = g.nodes().size();
  gradients(g.apply(kThrough, {a, a})[0], {a});
  // Four uses of a inside the expansion, added three times; a fourth addition would count it twice.
  EXPECT_EQ(count(g, kAdd, before), 3 + 1) << print(g);
}

}  // namespace
}  // namespace bertrain
