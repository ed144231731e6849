// Scaled dot-product attention of every head inside each example [Vaswani et al. 2017, section 3.2], and its gradient.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/dropout.h"

namespace bertrain {

// Slots of R rows of S, each H wide in `dtype` (f32 or bf16); head h of N owns columns h·H/N …. The slots of one
// example are adjacent within a row. Scores are q·k / √(H/N).
struct Attention {
  DType dtype = DType::f32;
  int64_t rows = 0, slots = 0, width = 0, heads = 1;
  const void *q = nullptr, *k = nullptr, *v = nullptr;  // [R, S, H]
  const int32_t* example = nullptr;                     // [R, S]; −1: empty slot
  const int32_t* is_key = nullptr;                      // [R, S]; 0: never attended to
  // Probability (query position p, key position j, head h, example number n) takes lane j mod 4 of
  // threefry(key, {n N + h, (p << 14) | (j >> 2)}); see RowDropout for the lanes. Null: all are kept.
  const RowDropout* dropout = nullptr;
};

// y [R, S, H] in dtype, and lse f32 [R, N, S], the log of the sum of exponentials. Empty slots get zeros, as do
// queries of an example without keys.
void attention(const Attention& a, void* y, float* lse);

// dq, dk, dv [R, S, H] from the outputs of the forward pass and dy; probabilities are computed again. Empty slots get
// zeros.
void attention_grad(const Attention& a, const void* y, const float* lse, const void* dy, void* dq,
                    void* dk, void* dv);

}  // namespace bertrain
