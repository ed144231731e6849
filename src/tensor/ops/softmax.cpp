// Softmax over the last axis, the maximum taken off first.
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

std::vector<ArrayType> softmax_infer(const Node& n) {
  same_as_float_input(n);
  demand_rank(n, 0, 1, "x");
  if (n.inputs[0].extent(-1) == 0) throw error("no softmax of nothing");
  return {n.inputs[0].type()};
}

Tensors softmax_expand(const Node& n) {
  Tensor x = convert(n.inputs[0], DType::f32);
  int64_t last = x.rank() - 1, count = x.extent(-1);
  Tensor e = exp(x - broadcast_last(reduce_max(x, {last}), count));
  return {convert(e / broadcast_last(reduce_sum(e, {last}), count), n.outputs[0].dtype)};
}

// dx = y (dy − Σ y dy)
Tensors softmax_grad(const Node& n, const Tensors& y, const Tensors& dy) {
  Tensor p = convert(y[0], DType::f32), d = convert(dy[0], DType::f32);
  Tensor sum = reduce_sum(p * d, {p.rank() - 1});
  return {convert(p * (d - broadcast_last(sum, p.extent(-1))), n.inputs[0].dtype())};
}

}  // namespace

extern const Op kSoftmax{"softmax", softmax_infer, softmax_expand, softmax_grad};

Tensor softmax(Tensor x) { return x.graph().apply(kSoftmax, {x})[0]; }

}  // namespace bertrain
