// Reductions over axes, which vanish.
#include <algorithm>

#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

using Axes = std::vector<int64_t>;

ArrayType reduced(const Node& n) {
  demand_inputs(n, 1);
  ArrayType type = n.inputs[0].type();
  const Axes& axes = n.list("axes");
  if (!is_float(type.dtype) && type.dtype != DType::i32) {
    throw error("no reduction of {}; convert it first", name_of(type.dtype));
  }
  demand_axes(axes, type.shape.size());
  for (size_t i = axes.size(); i-- > 0;) type.shape.erase(type.shape.begin() + axes[i]);
  return type;
}

std::vector<ArrayType> reduce_sum_infer(const Node& n) {
  ArrayType type = reduced(n);
  if (is_float(type.dtype)) type.dtype = DType::f32;
  return {type};
}

std::vector<ArrayType> reduce_max_infer(const Node& n) {
  ArrayType type = reduced(n);
  for (int64_t axis : n.list("axes")) {
    if (n.inputs[0].shape()[static_cast<size_t>(axis)] == 0) throw error("no maximum of nothing");
  }
  return {type};
}

// y back at every place that it was made of.
Tensor spread(const Node& n, Tensor y) {
  const Axes& gone = n.list("axes");
  const Shape& shape = n.inputs[0].shape();
  Axes axes;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i) {
    if (!std::binary_search(gone.begin(), gone.end(), i)) axes.push_back(i);
  }
  return broadcast(y, shape, axes);
}

Tensors reduce_sum_grad(const Node& n, const Tensors&, const Tensors& dy) {
  return {spread(n, convert(dy[0], n.inputs[0].dtype()))};
}

// Equal maxima share the gradient.
Tensors reduce_max_grad(const Node& n, const Tensors& y, const Tensors& dy) {
  Tensor x = n.inputs[0];
  Tensor is_max = convert(compare(x, spread(n, y[0]), Compare::equal), x.dtype());
  Tensor count = convert(reduce_sum(is_max, n.list("axes")), x.dtype());
  return {is_max * spread(n, dy[0] / count)};
}

}  // namespace

extern const Op kReduceSum{"reduce_sum", reduce_sum_infer, nullptr, reduce_sum_grad};
extern const Op kReduceMax{"reduce_max", reduce_max_infer, nullptr, reduce_max_grad};

Tensor reduce_sum(Tensor x, Axes axes) {
  return x.graph().apply(kReduceSum, {x}, {{"axes", std::move(axes)}})[0];
}
Tensor reduce_max(Tensor x, Axes axes) {
  return x.graph().apply(kReduceMax, {x}, {{"axes", std::move(axes)}})[0];
}

}  // namespace bertrain
