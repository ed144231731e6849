// What every op with dropout shares: which elements stay, and how a node carries the decision.
#pragma once

#include <cstdint>

#include "tensor/graph.h"
#include "tensor/ops/ops.h"

namespace bertrain {

uint32_t dropout_threshold(
    double rate);                   // round(65536 rate): an element stays iff its bits reach it
double dropout_scale(double rate);  // 1 / (1 − threshold / 65536)

// A node's inputs from `first` on are key, number, position, or three absent ones.
void append_dropout(Tensors& inputs, const Dropout& dropout);
Dropout dropout_of(const Node& node, size_t first);
// Rule: key u32 [2], number u32 and position i32 of the given shape, 0 ≤ rate < 1.
void demand_dropout(const Node& node, size_t first, const Shape& slots);

// f32 of the halves' shape: the scale where a half (16 bits in a u32) says that it stays, else 0.
Tensor dropout_factors(Tensor halves, double rate);

}  // namespace bertrain
