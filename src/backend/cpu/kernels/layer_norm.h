// Layer normalization [Ba et al. 2016], alone and in one pass with dropout and the residual sum, and its gradient.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/dropout.h"

namespace bertrain {

// Rows of [rows, H] in `dtype` (f32 or bf16); gamma, beta [H], mean, rstd [rows] are f32, as are all sums.
struct LayerNorm {
  DType dtype = DType::f32;
  int64_t rows = 0, width = 0;
  const float *gamma = nullptr, *beta = nullptr;
  double epsilon = 0;
  const void* x = nullptr;
  // With f: z = x + dropout(f) is normalized, and stored (z may be x or f). Without: x is.
  const void* f = nullptr;
  const RowDropout* dropout = nullptr;  // null: all are kept
  void* z = nullptr;
  void* y = nullptr;  // may be x, f, but not z
  float *mean = nullptr, *rstd = nullptr;
};
void layer_norm(const LayerNorm& n);

// From z (= x without f), mean and rstd of the forward pass and dy: dx = d loss / d z, df = dropout of it (null: not
// wanted), and dgamma, dbeta [H] over all rows, summed in chunks of rows that do not depend on threads.
struct LayerNormGrad {
  DType dtype = DType::f32;
  int64_t rows = 0, width = 0;
  const void* z = nullptr;
  const float *gamma = nullptr, *mean = nullptr, *rstd = nullptr;
  const void* dy = nullptr;
  const RowDropout* dropout = nullptr;
  void *dx = nullptr, *df = nullptr;  // may be dy (dx before df), not each other
  float *dgamma = nullptr, *dbeta = nullptr;
};
void layer_norm_grad(const LayerNormGrad& n);

}  // namespace bertrain
