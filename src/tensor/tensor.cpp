// What a Tensor handle knows through its node.
#include "tensor/tensor.h"

#include "base/error.h"
#include "tensor/graph.h"

namespace bertrain {

const ArrayType& Tensor::type() const {
  check(node_ != nullptr, "an absent Tensor has no type");
  return node_->outputs[static_cast<size_t>(output_)];
}

const Shape& Tensor::shape() const { return type().shape; }

DType Tensor::dtype() const { return type().dtype; }

int Tensor::rank() const { return static_cast<int>(shape().size()); }

int64_t Tensor::extent(int axis) const {
  int at = axis < 0 ? axis + rank() : axis;
  check(at >= 0 && at < rank(), fmt::format("axis {} of {}", axis, to_string(type())));
  return shape()[static_cast<size_t>(at)];
}

Graph& Tensor::graph() const {
  check(node_ != nullptr, "an absent Tensor has no graph");
  return *node_->graph;
}

}  // namespace bertrain
