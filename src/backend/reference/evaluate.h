// The value of one primitive, by plain loops on host arrays: what every backend is compared with.
#pragma once

#include <span>
#include <vector>

#include "tensor/graph.h"

namespace bertrain {

// The node's outputs for the values of its inputs (an absent input is an Array of no bytes). f32,
// bf16 (computed in f32, rounded once), i32, u32, boolean; moves and conversions also of i64 and
// u8. Sums are made in double, in row-major order. Throws Error, naming the node's scope, for an id
// outside its table, for an integer divided by zero, and for a composite (expand it first).
std::vector<Array> evaluate_node(const Node& node, std::span<const Array> inputs);

// all_reduce_sum: the sum of one value of each replica, made in double in their order, rounded once.
Array sum_over_replicas(std::span<const Array> values);

}  // namespace bertrain
