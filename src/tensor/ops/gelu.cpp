// GELU [Hendrycks & Gimpel 2016] in the tanh form of the original BERT code; gelu_erf.cpp is the
// exact form.  y = x/2 (1 + tanh u),  u = √(2/π) (x + 0.044715 x³)
#include <cmath>
#include <numbers>

#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

constexpr double kCubic = 0.044715;
const double kSlope = std::sqrt(2 / std::numbers::pi);

Tensor inner(Tensor x) { return (x + x * x * x * kCubic) * kSlope; }

Tensors gelu_expand(const Node& n) {
  Tensor x = convert(n.inputs[0], DType::f32);
  return {convert(x * (tanh(inner(x)) + 1) * 0.5, n.outputs[0].dtype)};
}

// dy/dx = (1 + t)/2 + x/2 (1 − t²) u',  t = tanh u,  u' = √(2/π) (1 + 3 · 0.044715 x²)
Tensors gelu_grad_expand(const Node& n) {
  Tensor x = convert(n.inputs[0], DType::f32), dy = convert(n.inputs[1], DType::f32);
  Tensor t = tanh(inner(x));
  Tensor inner_slope = (x * x * (3 * kCubic) + 1) * kSlope;
  Tensor slope = (t + 1) * 0.5 + x * (1 - t * t) * inner_slope * 0.5;
  return {convert(dy * slope, n.outputs[0].dtype)};
}

Tensors gelu_backward(const Node& n, const Tensors&, const Tensors& dy) {
  return {gelu_grad(n.inputs[0], dy[0])};
}

}  // namespace

extern const Op kGelu{"gelu", same_as_float_input, gelu_expand, gelu_backward};
extern const Op kGeluGrad{"gelu_grad", same_as_equal_float_inputs, gelu_grad_expand, nullptr};

Tensor gelu(Tensor x) { return x.graph().apply(kGelu, {x})[0]; }
Tensor gelu_grad(Tensor x, Tensor dy) { return x.graph().apply(kGeluGrad, {x, dy})[0]; }

}  // namespace bertrain
