// Primitives that move values without computing: reshape, transpose, broadcast, concatenate, slice,
// pad, iota.
#include <algorithm>
#include <numeric>

#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

using Axes = std::vector<int64_t>;

std::vector<ArrayType> reshape_infer(const Node& n) {
  demand_inputs(n, 1);
  const Shape& shape = n.list("shape");
  if (elements(shape) != elements(n.inputs[0].shape())) {
    throw error("{} does not have as many elements as {}", to_string(shape),
                to_string(n.inputs[0].shape()));
  }
  return {{n.inputs[0].dtype(), shape}};
}

Tensors reshape_grad(const Node& n, const Tensors&, const Tensors& dy) {
  return {reshape(dy[0], n.inputs[0].shape())};
}

std::vector<ArrayType> transpose_infer(const Node& n) {
  demand_inputs(n, 1);
  const Shape& from = n.inputs[0].shape();
  const Axes& axes = n.list("axes");
  Axes sorted = axes, all(from.size());
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) throw error("axes {} are no order of the input's axes", to_string(axes));
  Shape to;
  for (int64_t axis : axes) to.push_back(from[static_cast<size_t>(axis)]);
  return {{n.inputs[0].dtype(), to}};
}

Tensors transpose_grad(const Node& n, const Tensors&, const Tensors& dy) {
  const Axes& axes = n.list("axes");
  Axes back(axes.size());
  for (size_t i = 0; i < axes.size(); ++i)
    back[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
  return {transpose(dy[0], back)};
}

std::vector<ArrayType> broadcast_infer(const Node& n) {
  demand_inputs(n, 1);
  const Shape& from = n.inputs[0].shape();
  const Shape& to = n.list("shape");
  const Axes& axes = n.list("axes");
  if (axes.size() != from.size()) throw error("{} axes for {}", axes.size(), to_string(from));
  demand_axes(axes, to.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t extent = to[static_cast<size_t>(axes[i])];
    if (from[i] != extent && from[i] != 1) {
      throw error("axis {} cannot become axis {} of {}", i, axes[i], to_string(to));
    }
  }
  return {{n.inputs[0].dtype(), to}};
}

// What one value became many of, the gradients of all of them reach.
Tensors broadcast_grad(const Node& n, const Tensors&, const Tensors& dy) {
  const Shape& from = n.inputs[0].shape();
  const Shape& to = n.list("shape");
  Axes summed(to.size());
  std::iota(summed.begin(), summed.end(), 0);
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t axis = n.list("axes")[i];
    if (from[i] == to[static_cast<size_t>(axis)]) std::erase(summed, axis);
  }
  Tensor dx = summed.empty() ? dy[0] : reduce_sum(dy[0], summed);
  return {dx.shape() == from ? dx : reshape(dx, from)};
}

std::vector<ArrayType> concatenate_infer(const Node& n) {
  check(!n.inputs.empty(), "concatenate needs an input");
  demand_inputs(n, n.inputs.size());
  ArrayType type = n.inputs[0].type();
  int64_t axis = n.integer("axis");
  if (axis < 0 || axis >= static_cast<int64_t>(type.shape.size())) {
    throw error("axis {} of {}", axis, to_string(type.shape));
  }
  size_t at = static_cast<size_t>(axis);
  int64_t total = 0;
  for (const Tensor& t : n.inputs) {
    ArrayType other = t.type();
    if (other.shape.size() == type.shape.size()) {
      total += std::exchange(other.shape[at], type.shape[at]);
    }
    if (other != type) throw error("inputs must be equal but for axis {}", axis);
  }
  type.shape[at] = total;
  return {type};
}

Tensors concatenate_grad(const Node& n, const Tensors&, const Tensors& dy) {
  size_t axis = static_cast<size_t>(n.integer("axis"));
  Shape start(n.outputs[0].shape.size(), 0), limit = n.outputs[0].shape;
  Tensors dx;
  for (const Tensor& t : n.inputs) {
    limit[axis] = start[axis] + t.shape()[axis];
    dx.push_back(slice(dy[0], start, limit));
    start[axis] = limit[axis];
  }
  return dx;
}

std::vector<ArrayType> slice_infer(const Node& n) {
  demand_inputs(n, 1);
  const Shape& from = n.inputs[0].shape();
  const Shape &start = n.list("start"), &limit = n.list("limit");
  bool fits = start.size() == from.size() && limit.size() == from.size();
  Shape to;
  for (size_t i = 0; fits && i < from.size(); ++i) {
    fits = 0 <= start[i] && start[i] <= limit[i] && limit[i] <= from[i];
    to.push_back(limit[i] - start[i]);
  }
  if (!fits) throw error("{} … {} is no part of the input", to_string(start), to_string(limit));
  return {{n.inputs[0].dtype(), to}};
}

Tensors slice_grad(const Node& n, const Tensors&, const Tensors& dy) {
  Shape high = n.inputs[0].shape();
  for (size_t i = 0; i < high.size(); ++i) high[i] -= n.list("limit")[i];
  return {pad(dy[0], n.list("start"), high)};
}

std::vector<ArrayType> pad_infer(const Node& n) {
  demand_inputs(n, 1);
  ArrayType type = n.inputs[0].type();
  const Shape &low = n.list("low"), &high = n.list("high");
  if (low.size() != type.shape.size() || high.size() != type.shape.size()) {
    throw error("{} and {} are no padding of the input", to_string(low), to_string(high));
  }
  for (size_t i = 0; i < low.size(); ++i) {
    if (low[i] < 0 || high[i] < 0) throw error("negative padding");
    type.shape[i] += low[i] + high[i];
  }
  return {type};
}

Tensors pad_grad(const Node& n, const Tensors&, const Tensors& dy) {
  Shape limit = n.list("low");
  for (size_t i = 0; i < limit.size(); ++i) limit[i] += n.inputs[0].shape()[i];
  return {slice(dy[0], n.list("low"), limit)};
}

std::vector<ArrayType> iota_infer(const Node& n) {
  demand_inputs(n, 0);
  const Shape& shape = n.list("shape");
  int64_t axis = n.integer("axis"), dtype = n.integer("dtype");
  if (axis < 0 || axis >= static_cast<int64_t>(shape.size())) {
    throw error("axis {} of {}", axis, to_string(shape));
  }
  check(dtype >= 0 && dtype <= static_cast<int64_t>(DType::boolean), "iota of an unknown dtype");
  return {{static_cast<DType>(dtype), shape}};
}

Tensor one(const Op& op, Tensor x, Attrs attrs) {
  return x.graph().apply(op, {x}, std::move(attrs))[0];
}

}  // namespace

extern const Op kReshape{"reshape", reshape_infer, nullptr, reshape_grad, true};
extern const Op kTranspose{"transpose", transpose_infer, nullptr, transpose_grad, true};
extern const Op kBroadcast{"broadcast", broadcast_infer, nullptr, broadcast_grad, true};
extern const Op kConcatenate{"concatenate", concatenate_infer, nullptr, concatenate_grad, true};
extern const Op kSlice{"slice", slice_infer, nullptr, slice_grad, true};
extern const Op kPad{"pad", pad_infer, nullptr, pad_grad, true};
extern const Op kIota{"iota", iota_infer, nullptr, nullptr};

Tensor reshape(Tensor x, Shape shape) {
  auto open = std::find(shape.begin(), shape.end(), -1);
  if (open != shape.end()) {
    *open = 1;
    int64_t rest = elements(shape), all = elements(x.shape());
    if (rest == 0 || all % rest != 0) {
      *open = -1;
      throw error("reshape: {} cannot become {}", to_string(x.type()), to_string(shape));
    }
    *open = all / rest;
  }
  if (shape == x.shape()) return x;
  return one(kReshape, x, {{"shape", std::move(shape)}});
}

Tensor transpose(Tensor x, Axes axes) { return one(kTranspose, x, {{"axes", std::move(axes)}}); }

Tensor broadcast(Tensor x, Shape shape, Axes axes) {
  return one(kBroadcast, x, {{"shape", std::move(shape)}, {"axes", std::move(axes)}});
}

Tensor broadcast(Tensor x, Shape shape) {
  if (shape == x.shape()) return x;
  if (shape.size() < x.shape().size()) {
    throw error("broadcast: {} has more axes than {}", to_string(x.type()), to_string(shape));
  }
  Axes axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(shape.size() - axes.size()));
  return broadcast(x, std::move(shape), std::move(axes));
}

Tensor concatenate(Tensors xs, int64_t axis) {
  check(!xs.empty() && xs[0], "concatenate needs an input");
  if (axis < 0) axis += xs[0].rank();
  Graph& graph = xs[0].graph();
  return graph.apply(kConcatenate, std::move(xs), {{"axis", axis}})[0];
}

Tensor slice(Tensor x, Axes start, Axes limit) {
  return one(kSlice, x, {{"start", std::move(start)}, {"limit", std::move(limit)}});
}

Tensor pad(Tensor x, Axes low, Axes high) {
  return one(kPad, x, {{"low", std::move(low)}, {"high", std::move(high)}});
}

Tensor iota(Graph& graph, Shape shape, int64_t axis, DType dtype) {
  return graph.apply(
      kIota, {},
      {{"shape", std::move(shape)}, {"axis", axis}, {"dtype", static_cast<int64_t>(dtype)}})[0];
}

}  // namespace bertrain
