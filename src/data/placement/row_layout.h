// How long the rows of a device are, and how many there may be.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/placement/capacity_choice.h"

namespace bertrain {

struct RowLayout {
  int64_t rows = 1, slots = 0;
  bool operator==(const RowLayout&) const = default;
};

class Trials;

// Of a batch's needs without their budget, so that several budgets share what was tried. A batch of
// more than kMostDrawn examples is judged by drawn ones that stand for several each.
class RowLayouts {
 public:
  static constexpr int64_t kMostDrawn = 1 << 16;

  explicit RowLayouts(const CapacityNeeds& needs);
  ~RowLayouts();

  // Ascending. All rows have the smallest multiple of needs.row_slots with which batches drawn from the
  // sample waste little (10 % from 64 examples a batch up, else 15 %, with a margin for batches that
  // are not like the sample), as attention costs the length of a row in every slot. Where none does, as
  // for few examples on a replica, there is one row, whose length varies, or what wastes least. Each
  // layout is a program to compile: the batches that were drawn need three of them, the others are
  // further apart.
  std::vector<RowLayout> choose(int64_t budget);

  int64_t drawn() const;  // examples of all the batches that are tried

 private:
  std::unique_ptr<Trials> trials_;
};

}  // namespace bertrain
