// The element-wise half of attention: what happens to a block of scores between its matrix products.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/dropout.h"

namespace bertrain {

// Scores of some queries of one (example, head) with all its keys: [queries, padded], rows `stride` apart, in whole
// vectors; what lies beyond the keys is excluded by `bias`.
struct ScoreBlock {
  float* scores = nullptr;
  int64_t stride = 0, queries = 0, padded = 0;
  float scale = 1;
  const float* bias =
      nullptr;  // [padded] 0 or −infinity, added to scaled scores; null: no key is excluded
  // Dropout, or a null source.
  const DropoutSource* dropout = nullptr;
  uint32_t counter = 0;                     // n N + h
  const int32_t* query_position = nullptr;  // [queries]
  const int32_t* key_position = nullptr;    // [keys]
  int64_t keys = 0;
  bool adjacent = false;     // key positions are first, first + 1, …
  uint16_t* bits = nullptr;  // scratch, attention_bits(padded) of them
};
int64_t attention_bits(int64_t padded);

// scores become probabilities after dropout; lse [queries].
void soften(const ScoreBlock& block, float* lse);

// With P the probabilities of before: scores become P after dropout, and `dp` (the gradient of those, laid out as
// scores) becomes the gradient of the unscaled scores, times scale: P (dp·kept − d), d [queries] being dy·y.
void soften_grad(const ScoreBlock& block, const float* lse, const float* d, float* dp);

// d [rows] = Σ over `width` of a · b, rows `stride` apart.
void row_dots(const void* a, const void* b, DType dtype, int64_t rows, int64_t width,
              int64_t stride, float* d);

}  // namespace bertrain
