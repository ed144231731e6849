// What op rules (infer) demand of a node's inputs, each in one line with one form of message.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "tensor/graph.h"

namespace bertrain {

inline bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

// The number of inputs, all present but those from `optional` on: a bug of the caller otherwise.
void demand_inputs(const Node& node, size_t count, size_t optional = SIZE_MAX);
// These throw Error; `what` names the input in the message.
void demand_dtype(const Node& node, size_t input, DType dtype, std::string_view what);
void demand_float(const Node& node, size_t input, std::string_view what);
void demand_same(const Node& node, size_t a, size_t b);  // dtype and shape
void demand_shape(const Node& node, size_t input, const Shape& shape, std::string_view what);
void demand_rank(const Node& node, size_t input, size_t rank, std::string_view what);  // at least
// gamma or beta of a norm over the last axis of input 0; f32 also under a bf16 x, as norms are
// computed in f32 anyway.
void demand_norm_scale(const Node& node, size_t input, std::string_view what);

// An axis list: each within the rank and increasing.
void demand_axes(const std::vector<int64_t>& axes, size_t rank);

// Rule of ops whose one result is like the first input: float, and the same with equal inputs.
std::vector<ArrayType> same_as_float_input(const Node& node);
std::vector<ArrayType> same_as_equal_float_inputs(const Node& node);

Shape without_last(const Shape& shape);  // [..., C] → [...]

}  // namespace bertrain
