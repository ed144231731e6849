// What the options for tables come to, and what is wrong with them, before any table is read.
#pragma once

#include <cstdint>

#include "formats/rows.h"
#include "task/table/classification.h"
#include "task/table/long_text.h"

namespace bertrain {

inline constexpr int64_t kMostStride = 1'000'000;  // pieces

RowOptions row_options(const ClassificationOptions& options, bool header, bool blank_is_row);
// Usage errors for numbers out of range; `positions` are the model's.
void check_ranges(const ClassificationOptions& options, int64_t positions);
// A usage error for an unknown way, or a stride without windows.
LongText long_text_of(const ClassificationOptions& options);

}  // namespace bertrain
