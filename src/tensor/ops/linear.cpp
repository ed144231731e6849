// A dense layer's product and bias: y = x W + b over the last axis.
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

Tensor as_rows(Tensor x) {  // [..., K] → [T, K], also where T or K is 0
  Shape leading = without_last(x.shape());
  return reshape(x, {elements(leading), x.extent(-1)});
}

std::vector<ArrayType> linear_infer(const Node& n) {
  demand_inputs(n, 3, 2);
  demand_float(n, 0, "x");
  demand_rank(n, 0, 1, "x");
  DType dtype = n.inputs[0].dtype();
  demand_dtype(n, 1, dtype, "w");
  const Shape& w = n.inputs[1].shape();
  if (w.size() != 2) throw error("w must have two axes");
  bool transposed = n.integer("transpose_w") != 0;
  int64_t k = w[transposed ? 1 : 0], columns = w[transposed ? 0 : 1];
  if (n.inputs[0].extent(-1) != k)
    throw error("x has {} columns, w takes {}", n.inputs[0].extent(-1), k);
  if (n.inputs[2]) {
    demand_shape(n, 2, {columns}, "the bias");
    if (n.inputs[2].dtype() != DType::f32) demand_dtype(n, 2, dtype, "the bias");
  }
  Shape y = n.inputs[0].shape();
  y.back() = columns;
  return {{dtype, y}};
}

Tensors linear_expand(const Node& n) {
  Tensor x = as_rows(n.inputs[0]), bias = n.inputs[2];
  Tensor y = matmul(x, n.inputs[1], {false, n.integer("transpose_w") != 0});  // [T, N]
  if (bias) y = y + broadcast(convert(bias, DType::f32), y.shape());
  return {reshape(convert(y, n.outputs[0].dtype), n.outputs[0].shape)};
}

// dx = dy Wᵀ,  dW = xᵀ dy,  db = Σ dy; the parameters' are f32 straight out of the sums.
Tensors linear_grad(const Node& n, const Tensors&, const Tensors& dy) {
  bool transposed = n.integer("transpose_w") != 0;
  Tensor x = as_rows(n.inputs[0]), d = as_rows(dy[0]);
  Tensor dx = linear(dy[0], n.inputs[1], {}, !transposed);
  Tensor dw = transposed ? matmul(d, x, {true, false}) : matmul(x, d, {true, false});
  return {dx, dw, n.inputs[2] ? reduce_sum(d, {0}) : Tensor()};
}

}  // namespace

extern const Op kLinear{"linear", linear_infer, linear_expand, linear_grad};

Tensor linear(Tensor x, Tensor w, Tensor bias, bool transpose_w) {
  return x.graph().apply(kLinear, {x, w, bias}, {{"transpose_w", int64_t{transpose_w}}})[0];
}

}  // namespace bertrain
