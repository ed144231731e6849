// Rows taken from a table by number, and added back to it.
#pragma once

#include <cstdint>

#include "base/array.h"

namespace bertrain {

// y [count, width] = table [ids[i], :], rows of `row_bytes` bytes. Ids are in range.
void gather_rows(const void* table, const int32_t* ids, int64_t count, int64_t row_bytes, void* y);

// table [V, width] f32 += rows [count, width] (f32 or bf16) at ids, in the order of the rows. Columns are split over
// threads, so that no two add to one element.
void scatter_add_rows(const void* rows, DType dtype, const int32_t* ids, int64_t count,
                      int64_t width, float* table);

}  // namespace bertrain
