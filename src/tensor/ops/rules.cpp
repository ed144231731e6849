// The demands of op rules.
#include "tensor/ops/rules.h"

namespace bertrain {

void demand_inputs(const Node& node, size_t count, size_t optional) {
  check(node.inputs.size() == count,
        fmt::format("{} takes {} inputs, not {}", node.op->name, count, node.inputs.size()));
  for (size_t i = 0; i < count && i < optional; ++i) {
    check(static_cast<bool>(node.inputs[i]),
          fmt::format("{}: input {} is absent", node.op->name, i));
  }
}

void demand_dtype(const Node& node, size_t input, DType dtype, std::string_view what) {
  DType found = node.inputs[input].dtype();
  if (found != dtype) {
    throw error("{} must be {}, but is {}", what, name_of(dtype), name_of(found));
  }
}

void demand_float(const Node& node, size_t input, std::string_view what) {
  DType found = node.inputs[input].dtype();
  if (!is_float(found)) throw error("{} must be floating point, but is {}", what, name_of(found));
}

void demand_same(const Node& node, size_t a, size_t b) {
  if (node.inputs[a].type() != node.inputs[b].type()) {
    throw error("inputs {} and {} must have equal dtype and shape", a, b);
  }
}

void demand_shape(const Node& node, size_t input, const Shape& shape, std::string_view what) {
  if (node.inputs[input].shape() != shape) {
    throw error("{} must be {}, but is {}", what, to_string(shape),
                to_string(node.inputs[input].shape()));
  }
}

void demand_rank(const Node& node, size_t input, size_t rank, std::string_view what) {
  const Shape& shape = node.inputs[input].shape();
  if (shape.size() < rank) {
    throw error("{} must have {} axes or more, but is {}", what, rank, to_string(shape));
  }
}

void demand_norm_scale(const Node& node, size_t input, std::string_view what) {
  demand_shape(node, input, {node.inputs[0].extent(-1)}, what);
  if (node.inputs[input].dtype() != DType::f32) {
    demand_dtype(node, input, node.inputs[0].dtype(), what);
  }
}

void demand_axes(const std::vector<int64_t>& axes, size_t rank) {
  int64_t last = -1;
  for (int64_t axis : axes) {
    if (axis <= last || axis >= static_cast<int64_t>(rank)) {
      throw error("axes {} must increase and lie below the rank {}", to_string(axes), rank);
    }
    last = axis;
  }
}

std::vector<ArrayType> same_as_float_input(const Node& node) {
  demand_inputs(node, 1);
  demand_float(node, 0, "the input");
  return {node.inputs[0].type()};
}

std::vector<ArrayType> same_as_equal_float_inputs(const Node& node) {
  demand_inputs(node, 2);
  demand_float(node, 0, "the input");
  demand_same(node, 0, 1);
  return {node.inputs[0].type()};
}

Shape without_last(const Shape& shape) { return Shape(shape.begin(), shape.end() - 1); }

}  // namespace bertrain
