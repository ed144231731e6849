// The shapes of programs that waste little on batches like a sample's.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/placement/placement.h"

namespace bertrain {

class RowLayouts;

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

// Capacities, ascending, for place(). One long row: near the expected size of a micro-batch they lie
// 4 % apart, so that rounding up wastes 2 % on average; far from it 15 %. Short rows: see
// row_layout.h. Examples and targets follow from the slots by the sample's ratios and a margin.
// Throws a usage error if the budget is too small for one example.
std::vector<Capacity> choose_capacities(const CapacityNeeds& needs);

// The same for several budgets, in less time than one by one.
class CapacityChooser {
 public:
  explicit CapacityChooser(CapacityNeeds needs);  // their budget is not used
  ~CapacityChooser();
  std::vector<Capacity> choose(int64_t budget);

 private:
  CapacityNeeds needs_;
  std::unique_ptr<RowLayouts> rows_;
};

}  // namespace bertrain
