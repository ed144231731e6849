// Which bytes of one arena each value of a program lives in: values that never live at one time share memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bertrain {

struct Lifetime {
  size_t bytes = 0;
  // numbers of the calls that make and last read the value, both inclusive
  int64_t first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // of each value, multiples of 64
  size_t bytes = 0;             // of the arena
};

// Greedy by size: the largest value first, each at the lowest offset where no value placed before it lives at the same
// time. Deterministic.
MemoryPlan plan_memory(const std::vector<Lifetime>& values);

}  // namespace bertrain
