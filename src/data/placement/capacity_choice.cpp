// By the sizes of examples: one long row, or rows of a small multiple of the longest example.
#include "data/placement/capacity_choice.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "data/placement/row_layout.h"

namespace bertrain {
namespace {

int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t unit) { return ceil_divide(a, unit) * unit; }

// Examples and targets that go with slots.
class Ratios {
 public:
  explicit Ratios(const CapacityNeeds& needs) : needs_(needs) {
    double slots = 0, targets = 0;
    for (const ExampleSize& size : needs.sample) {
      slots += static_cast<double>(size.slots);
      targets += static_cast<double>(size.targets);
    }
    bool sampled = slots > 0;
    mean_ = sampled ? slots / static_cast<double>(needs.sample.size())
                    : static_cast<double>(needs.longest);
    targets_of_slot_ = sampled ? targets / slots : static_cast<double>(needs.most_targets) / mean_;
  }

  double mean() const { return mean_; }  // slots of an example

  Capacity capacity(int64_t rows, int64_t slots) const {
    auto size = static_cast<double>(rows * slots);
    Capacity c{rows, slots, 0, 0};
    auto wanted = static_cast<int64_t>(std::ceil(1.25 * size / mean_)) + 1;
    c.examples = std::min(needs_.batch_size, wanted);  // with replicas, some get more than others
    if (needs_.most_targets > 0) {
      auto likely = static_cast<int64_t>(std::ceil(1.05 * targets_of_slot_ * size));
      c.targets = std::max(needs_.most_targets, round_up(likely + 4, 8));
      c.targets = std::min(c.targets, c.examples * needs_.most_targets);
    }
    return c;
  }

 private:
  const CapacityNeeds& needs_;
  double mean_ = 0, targets_of_slot_ = 0;
};

// Examples of one replica, if each had the same number.
int64_t share_of(const CapacityNeeds& needs) {
  return ceil_divide(needs.batch_size, needs.replicas);
}

// Near the expected size of a micro-batch they lie 4 % apart, so that rounding up wastes 2 % on
// average; far from it 15 %.
std::vector<Capacity> long_rows(const CapacityNeeds& needs, const Ratios& ratios) {
  constexpr int64_t kUnit = 8;  // what a row grows by
  int64_t largest = round_up(share_of(needs) * needs.longest, kUnit);
  if (needs.budget > 0) {
    int64_t allowed = needs.budget / kUnit * kUnit;
    largest = std::min(largest, std::max(allowed, round_up(needs.longest, kUnit)));
  }
  double slots =
      static_cast<double>(needs.batch_size) / static_cast<double>(needs.replicas) * ratios.mean();
  double expected = slots / std::ceil(slots / static_cast<double>(largest));
  std::vector<Capacity> capacities;
  double floor = std::max(static_cast<double>(kUnit), std::min(16.0, expected));
  int64_t before = 0;
  for (auto size = static_cast<double>(largest); size >= floor;) {
    int64_t rounded = std::min(largest, round_up(static_cast<int64_t>(size), kUnit));
    if (rounded != before) capacities.push_back(ratios.capacity(1, rounded));
    before = rounded;
    bool near = size < 2 * expected && size > 0.5 * expected;
    size /= near ? 1.04 : 1.15;
  }
  std::reverse(capacities.begin(), capacities.end());
  return capacities;
}

}  // namespace

CapacityChooser::CapacityChooser(CapacityNeeds needs) : needs_(std::move(needs)) {
  check(needs_.longest >= 1 && needs_.batch_size >= 1 && needs_.replicas >= 1,
        "a capacity is chosen for some example");
}

CapacityChooser::~CapacityChooser() = default;

std::vector<Capacity> CapacityChooser::choose(int64_t budget) {
  if (budget > 0 && budget < needs_.longest) {
    throw usage_error(
        "memory allows {} tokens at once, too few for one example of max_seq_length {}: raise "
        "--memory or lower --max_seq_length",
        budget, needs_.longest);
  }
  needs_.budget = budget;
  Ratios ratios(needs_);
  if (needs_.row_slots == 0) return long_rows(needs_, ratios);
  if (!rows_) rows_ = std::make_unique<RowLayouts>(needs_);
  std::vector<Capacity> capacities;
  for (const RowLayout& layout : rows_->choose(budget)) {
    capacities.push_back(ratios.capacity(layout.rows, layout.slots));
  }
  return capacities;
}

std::vector<Capacity> choose_capacities(const CapacityNeeds& needs) {
  return CapacityChooser(needs).choose(needs.budget);
}

}  // namespace bertrain
