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

// All examples into as few micro-batches as the largest capacity (the last one) allows, with their
// slots spread evenly, so that they tend to use the same program; each takes the first capacity
// that holds it. In every capacity, and from one to the next, nothing may shrink. Each example must
// fit the last capacity. The micro-batches come in groups of `replicas`, one after the other, which
// run at once: those of a group share the capacity that holds the fullest, and where there are
// fewer examples, some have no members. The result is a function of the arguments alone.
std::vector<MicroBatch> place(std::span<const ExampleSize> sizes,
                              std::span<const Capacity> capacities, int64_t replicas = 1);

// What choose_capacities is told of the data and of the machine.
struct CapacityNeeds {
  std::vector<ExampleSize> sample;  // sizes of some examples; none: all are as long as can be
  int64_t batch_size = 1;           // examples of a global batch, or of one of its parts
  int64_t longest = 0;              // slots of the longest example that is allowed
  int64_t most_targets = 0;         // of one example; 0: no target axis
  int64_t budget = 0;               // slots of one replica that memory allows; 0: no limit
  int64_t row_slots = 0;            // S of a row; 0: one long row
  int64_t replicas = 1;             // that share a batch
};

// Capacities, ascending, for place(). Near the expected size of a micro-batch they lie 4 % apart,
// so that rounding up wastes 2 % on average; far from it 15 %. A run meets few of them. Examples
// and targets follow from the slots by the sample's ratios and a margin. Throws a usage error if
// the budget is too small for one example.
std::vector<Capacity> choose_capacities(const CapacityNeeds& needs);

}  // namespace bertrain
