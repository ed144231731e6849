// The loops behind evaluate_node, one function a primitive or family.
#pragma once

#include <span>
#include <vector>

#include "tensor/graph.h"

namespace bertrain {

using Arrays = std::span<const Array>;

// Element by element. Floats arrive as f32 (bf16 widened) and leave as f32.
Array evaluate_binary(const Node& node, Arrays in);
Array evaluate_unary(const Node& node, Arrays in);
Array evaluate_compare(const Node& node, Arrays in);
Array evaluate_convert(const Node& node, Arrays in);  // any dtype as it is

// Moves, of any dtype.
Array evaluate_select(const Node& node, Arrays in);
Array evaluate_reshape(const Node& node, Arrays in);
Array evaluate_transpose(const Node& node, Arrays in);
Array evaluate_broadcast(const Node& node, Arrays in);
Array evaluate_concatenate(const Node& node, Arrays in);
Array evaluate_slice(const Node& node, Arrays in);
Array evaluate_pad(const Node& node, Arrays in);
Array evaluate_gather_rows(const Node& node, Arrays in);

// Sums. Floats arrive and leave as f32.
Array evaluate_iota(const Node& node, Arrays in);
Array evaluate_reduce_sum(const Node& node, Arrays in);
Array evaluate_reduce_max(const Node& node, Arrays in);
Array evaluate_matmul(const Node& node, Arrays in);
Array evaluate_scatter_add_rows(const Node& node, Arrays in);

// Steps between neighbours along each axis of a row-major shape.
std::vector<int64_t> steps_of(const Shape& shape);
// Calls body(i, offset) for element i = 0, 1, … of shape in row-major order, where offset is the
// sum of index × step over the axes.
template <class Body>
void walk(const Shape& shape, const std::vector<int64_t>& steps, Body body) {
  int64_t count = elements(shape), offset = 0;
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    body(i, offset);
    for (size_t axis = shape.size(); axis-- > 0;) {
      offset += steps[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= steps[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

// A new array of values of T: fill(T*) writes them (they start as zeros).
template <class T, class Fill>
Array filled(DType dtype, const Shape& shape, Fill fill) {
  return make_array(ArrayType{dtype, shape},
                    [&](std::span<std::byte> bytes) { fill(reinterpret_cast<T*>(bytes.data())); });
}

}  // namespace bertrain
