// The table of functions that one instruction set gives to the matrix product: packing and register
// tiles. Everything packed is in units of 4 bytes: one f32, or a pair of bf16 that are neighbours
// along K.
#pragma once

#include <cstdint>

#include "base/array.h"

namespace bertrain {

// Many rows of C against one packed panel of B.
struct GemmTiles {
  // Row-major A: unit (i, step) is at a[i · a_stride + step]. Step-major A: at
  // a[(i / tile rows) · a_panel + step · a_stride + i mod tile rows].
  const float* a = nullptr;
  int64_t a_stride = 0, a_panel = 0;
  bool a_step_major = false;
  const float* b = nullptr;                  // [steps, tile columns]
  int64_t rows = 0, columns = 0, steps = 0;  // columns ≤ tile columns are stored
  void* c = nullptr;
  int64_t c_stride = 0;
  bool c_bf16 = false, accumulate = false;
  const float* bias = nullptr;  // [tile columns] or null
};

struct GemmKernel {
  int64_t rows, columns;  // of the register tile
  int64_t pair;           // elements of K in one unit
  // Source [count, depth] → [count, stride] units, K along the rows.
  void (*pack_rows)(const void* source, DType dtype, int64_t source_stride, int64_t count,
                    int64_t depth, float* to, int64_t stride);
  // Source [depth, count] → strips of `width` columns, each [steps, width] units, `strip` units
  // apart; columns from count on are zero.
  void (*pack_strips)(const void* source, DType dtype, int64_t source_stride, int64_t depth,
                      int64_t count, int64_t width, float* to, int64_t strip);
  // Source [count, depth] → [steps, width] units; columns from count on are zero.
  void (*pack_transposed)(const void* source, DType dtype, int64_t source_stride, int64_t depth,
                          int64_t count, int64_t width, float* to);
  void (*tiles)(const GemmTiles& t);
};

const GemmKernel& gemm_kernel_f32();
const GemmKernel* gemm_kernel_bf16();  // null where the CPU has no bf16 dot product

inline int64_t gemm_steps(const GemmKernel& kernel, int64_t depth) {
  return (depth + kernel.pair - 1) / kernel.pair;
}

}  // namespace bertrain
