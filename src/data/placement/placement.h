// Which micro-batch, row and slots each example of a global batch takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bertrain {

// The shape of one program: rows [R] of slots [S], examples [E], targets [M]. targets 0: no such
// axis.
struct Capacity {
  int64_t rows = 1, slots = 0, examples = 0, targets = 0;
  bool operator==(const Capacity&) const = default;
};

struct ExampleSize {
  int64_t slots = 0, targets = 0;
};

// One micro-batch: members in the order of their places in the global batch, each with its first
// slot, an index into R·S. No example is cut and none crosses a row.
struct MicroBatch {
  Capacity capacity;
  std::vector<size_t> members;
  std::vector<int64_t> first_slot;
};

// Whether one example fits a micro-batch that it has alone.
bool fits(const ExampleSize& size, const Capacity& capacity);

// All examples into as few micro-batches as the largest capacity (the last one) allows; each takes
// the first capacity that holds it. Where that is one long row, the slots are spread evenly, so that
// micro-batches tend to use the same program; where there are many rows, these are filled one by one
// and dealt out. In every capacity, and from one to the next, nothing may shrink. Each example must
// fit the last capacity. The micro-batches come in groups of `replicas`, one after the other, which
// run at once: those of a group share the capacity that holds the fullest, and where there are
// fewer examples, some have no members. The result is a function of the arguments alone.
std::vector<MicroBatch> place(std::span<const ExampleSize> sizes,
                              std::span<const Capacity> capacities, int64_t replicas = 1);

}  // namespace bertrain
