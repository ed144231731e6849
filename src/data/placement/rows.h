// Whole examples into rows of one length, as few as can be found.
#pragma once

#include <span>
#include <vector>

#include "data/placement/placement.h"

namespace bertrain {

struct FilledRow {
  std::vector<size_t> members;
  int64_t slots = 0, targets = 0;  // theirs
};

// Best fit decreasing: the longest example first, each to the fullest row that has room. `limits`
// are those of one row: its slots, examples and targets; each example must fit one.
std::vector<FilledRow> fill_rows(std::span<const ExampleSize> sizes, const Capacity& limits);

// The rows dealt out to `count` micro-batches of that capacity, each with nearly the same number of
// rows, and in proportion to the capacity of examples and targets; none if that cannot be.
std::vector<MicroBatch> deal_rows(std::span<const FilledRow> rows,
                                  std::span<const ExampleSize> sizes, const Capacity& capacity,
                                  size_t count);

}  // namespace bertrain
