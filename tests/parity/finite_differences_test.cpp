// Every gradient against the slope of the values, and the proof that a wrong one is found.
#include <gtest/gtest.h>

#include "run.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

// bf16 values have no small steps. Large cases are there for the blocks of kernels, not for the
// formulas, and would take minutes.
bool is_measured(const Case& c) {
  for (const Array& a : c.inputs) {
    if (a.type.dtype == DType::bf16 || a.size() > 4000) return false;
  }
  return !c.wrt.empty();
}

TEST(FiniteDifferences, EveryGradientIsTheSlope) {
  int measured = 0;
  for (const Case& c : all_cases()) {
    if (!is_measured(c)) continue;
    EXPECT_EQ(wrong_gradient(c), "");
    ++measured;
  }
  EXPECT_GT(measured, 100);
}

// x² with a gradient that is wrong by a factor, in one element, or missing.
Tensors square(const Node& n) { return {n.inputs[0] * n.inputs[0]}; }
Tensors right(const Node& n, const Tensors&, const Tensors& dy) {
  return {dy[0] * n.inputs[0] * 2};
}
Tensors two_percent_off(const Node& n, const Tensors&, const Tensors& dy) {
  return {dy[0] * n.inputs[0] * 2.04};
}
Tensors first_element_off(const Node& n, const Tensors& y, const Tensors& dy) {
  Tensor x = n.inputs[0];
  Tensor first = compare(iota(x.graph(), x.shape(), 0, DType::i32),
                         full(x.graph(), x.shape(), 0, DType::i32), Compare::equal);
  return {select(first, dy[0], right(n, y, dy)[0])};
}
Tensors missing(const Node&, const Tensors&, const Tensors&) { return {Tensor()}; }

TEST(FiniteDifferences, FindAWrongGradient) {
  auto verdict = [](auto* grad) {
    Op op{"square", same_as_float_input, square, grad};
    Case c{&op,
           {Values(3).normal(DType::f32, {101})},
           [&op](Graph& g, const Tensors& x) { return g.apply(op, {x[0]}); },
           {0},
           {0}};
    return wrong_gradient(c);
  };
  EXPECT_EQ(verdict(right), "");
  EXPECT_NE(verdict(two_percent_off), "");
  EXPECT_NE(verdict(first_element_off), "");
  EXPECT_NE(verdict(missing), "");
}

}  // namespace
}  // namespace bertrain
