// Rectifier: max(x, 0); the slope at 0 is 0.
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

Tensor zeros_like(Tensor x) { return full(x.graph(), x.shape(), 0, x.dtype()); }

Tensors relu_expand(const Node& n) { return {maximum(n.inputs[0], zeros_like(n.inputs[0]))}; }

Tensors relu_grad(const Node& n, const Tensors&, const Tensors& dy) {
  Tensor x = n.inputs[0], zero = zeros_like(x);
  return {select(compare(x, zero, Compare::greater), dy[0], zero)};
}

}  // namespace

extern const Op kRelu{"relu", same_as_float_input, relu_expand, relu_grad};

Tensor relu(Tensor x) { return x.graph().apply(kRelu, {x})[0]; }

}  // namespace bertrain
