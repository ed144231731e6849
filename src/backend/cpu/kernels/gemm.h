// Matrix product on the CPU: C (+)= op(A) · op(B) (+ bias), in f32 or with bf16 inputs and f32
// sums.
#pragma once

#include <cstdint>

#include "base/array.h"

namespace bertrain {

// A matrix in memory, f32 or bf16, rows `stride` elements apart. As op(A) [M, K] it is stored [M,
// K], or [K, M] if transposed; as op(B) [K, N] it is stored [K, N], or [N, K] if transposed.
struct GemmOperand {
  const void* data = nullptr;
  int64_t stride = 0;
  bool transposed = false;
  DType dtype = DType::f32;
};

struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  GemmOperand a, b;
  void* c = nullptr;  // [M, N], rows c_stride elements apart; overlaps neither A nor B
  int64_t c_stride = 0;
  DType c_dtype = DType::f32;
  bool accumulate = false;      // C += instead of C =; only with f32 C
  const float* bias = nullptr;  // [N], added to every row
  DType compute =
      DType::f32;  // bf16: both operands are rounded to bf16, products are summed in f32
};

// Any sizes, also zero (with k = 0, C is the bias or unchanged). Sums over K run in one fixed order
// that depends on the shape alone, so the result does not depend on the number of threads. Uses all
// OpenMP threads. Where the CPU has no bf16 dot product, compute = bf16 rounds the same way and
// multiplies in f32.
void gemm(const Gemm& g);

// The same in the calling thread alone, for use inside a parallel loop.
void gemm_here(const Gemm& g);

bool has_bf16_dot();  // whether this CPU multiplies bf16 faster than f32

}  // namespace bertrain
