// Sums over rows and over whole arrays, in chunks that do not depend on the number of threads.
#pragma once

#include <cstdint>

#include "base/array.h"

namespace bertrain {

// y [columns] = Σ over rows of x [rows, columns], f32 or bf16, summed in f32; y in f32.
void column_sums(const void* x, DType dtype, int64_t rows, int64_t columns, float* y);

// y [rows] = Σ over each row of x [rows, columns]; f32.
void row_sums(const void* x, DType dtype, int64_t rows, int64_t columns, float* y);

double sum_of_squares(const void* x, DType dtype, int64_t count);

// y [columns] = parts [0] + parts [1] + …, parts being [chunks, columns].
void add_chunks(const float* parts, int64_t chunks, int64_t columns, float* y);

// Rows to a chunk when rows are summed: at most 32 chunks, so that the partial sums stay small.
inline int64_t sum_chunk(int64_t rows) {
  const int64_t chunk = (rows + 31) / 32;
  return chunk < 16 ? 16 : chunk;
}

}  // namespace bertrain
