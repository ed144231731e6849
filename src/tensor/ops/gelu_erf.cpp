// GELU [Hendrycks & Gimpel 2016] in its exact form: y = x Φ(x), Φ(x) = (1 + erf(x/√2)) / 2.
#include <cmath>
#include <numbers>

#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

Tensor normal_cdf(Tensor x) { return (erf(x * (1 / std::numbers::sqrt2)) + 1) * 0.5; }

Tensors gelu_erf_expand(const Node& n) {
  Tensor x = convert(n.inputs[0], DType::f32);
  return {convert(x * normal_cdf(x), n.outputs[0].dtype)};
}

// dy/dx = Φ(x) + x φ(x),  φ(x) = exp(−x²/2) / √(2π)
Tensors gelu_erf_grad_expand(const Node& n) {
  Tensor x = convert(n.inputs[0], DType::f32), dy = convert(n.inputs[1], DType::f32);
  Tensor density = exp(x * x * -0.5) * (1 / std::sqrt(2 * std::numbers::pi));
  return {convert(dy * (normal_cdf(x) + x * density), n.outputs[0].dtype)};
}

Tensors gelu_erf_backward(const Node& n, const Tensors&, const Tensors& dy) {
  return {gelu_erf_grad(n.inputs[0], dy[0])};
}

}  // namespace

extern const Op kGeluErf{"gelu_erf", same_as_float_input, gelu_erf_expand, gelu_erf_backward};
extern const Op kGeluErfGrad{"gelu_erf_grad", same_as_equal_float_inputs, gelu_erf_grad_expand,
                             nullptr};

Tensor gelu_erf(Tensor x) { return x.graph().apply(kGeluErf, {x})[0]; }
Tensor gelu_erf_grad(Tensor x, Tensor dy) { return x.graph().apply(kGeluErfGrad, {x, dy})[0]; }

}  // namespace bertrain
