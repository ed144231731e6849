// Longest first to the emptiest micro-batch, in it to the fullest row that still has room.
#include "data/placement.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.h"

namespace bertrain {
namespace {

// What is taken of one micro-batch while it is being filled.
class Bin {
 public:
  explicit Bin(const Capacity& capacity)
      : capacity_(capacity), used_(static_cast<size_t>(capacity.rows)) {}

  int64_t slots() const { return slots_; }

  bool add(size_t member, const ExampleSize& size) {
    if (static_cast<int64_t>(members_.size()) >= capacity_.examples ||
        targets_ + size.targets > capacity_.targets) {
      return false;
    }
    std::optional<size_t> best;
    for (size_t row = 0; row < used_.size(); ++row) {
      if (used_[row] + size.slots > capacity_.slots) continue;
      if (!best || used_[row] > used_[*best]) best = row;
    }
    if (!best) return false;
    members_.push_back(member);
    rows_.push_back(*best);
    used_[*best] += size.slots;
    slots_ += size.slots;
    targets_ += size.targets;
    return true;
  }

  const std::vector<size_t>& members() const { return members_; }

  // Slots are given in the order of places in the global batch, not of lengths.
  MicroBatch finish(std::span<const ExampleSize> sizes) const {
    std::vector<size_t> order(members_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return members_[a] < members_[b]; });
    MicroBatch placement{capacity_, {}, {}};
    std::vector<int64_t> next(used_.size());
    for (size_t i : order) {
      size_t row = rows_[i];
      placement.members.push_back(members_[i]);
      placement.first_slot.push_back(static_cast<int64_t>(row) * capacity_.slots + next[row]);
      next[row] += sizes[members_[i]].slots;
    }
    return placement;
  }

 private:
  Capacity capacity_;
  std::vector<int64_t> used_;  // slots by row
  int64_t slots_ = 0, targets_ = 0;
  std::vector<size_t> members_, rows_;
};

std::optional<std::vector<Bin>> distribute(std::span<const size_t> longest_first,
                                           std::span<const ExampleSize> sizes,
                                           const Capacity& capacity, size_t count) {
  std::vector<Bin> bins(count, Bin(capacity));
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t member : longest_first) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return bins[a].slots() < bins[b].slots(); });
    bool placed = false;
    for (size_t bin : order) {
      placed = bins[bin].add(member, sizes[member]);
      if (placed) break;
    }
    if (!placed) return std::nullopt;
  }
  return bins;
}

int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t unit) { return ceil_divide(a, unit) * unit; }

// The same members in the first capacity that holds those of every bin.
std::vector<Bin> smallest(std::span<const Bin> group, std::span<const ExampleSize> sizes,
                          std::span<const Capacity> capacities) {
  for (const Capacity& capacity : capacities.first(capacities.size() - 1)) {
    std::vector<Bin> smaller;
    for (const Bin& bin : group) {
      auto one = distribute(bin.members(), sizes, capacity, 1);
      if (!one) break;
      smaller.push_back(std::move(one->front()));
    }
    if (smaller.size() == group.size()) return smaller;
  }
  return {group.begin(), group.end()};
}

}  // namespace

bool fits(const ExampleSize& size, const Capacity& capacity) {
  return capacity.rows >= 1 && capacity.examples >= 1 && size.slots <= capacity.slots &&
         size.targets <= capacity.targets;
}

std::vector<MicroBatch> place(std::span<const ExampleSize> sizes,
                              std::span<const Capacity> capacities, int64_t replicas) {
  if (sizes.empty()) return {};
  check(!capacities.empty(), "there is no capacity to place examples in");
  const Capacity& largest = capacities.back();
  int64_t slots = 0, targets = 0;
  for (const ExampleSize& size : sizes) {
    check(fits(size, largest), "an example does not fit the largest capacity");
    slots += size.slots;
    targets += size.targets;
  }
  std::vector<size_t> longest_first(sizes.size());
  std::iota(longest_first.begin(), longest_first.end(), size_t{0});
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [&](size_t a, size_t b) { return sizes[a].slots > sizes[b].slots; });

  int64_t count =
      std::max<int64_t>(1, ceil_divide(static_cast<int64_t>(sizes.size()), largest.examples));
  count = std::max(count, ceil_divide(slots, largest.rows * largest.slots));
  if (targets > 0) count = std::max(count, ceil_divide(targets, largest.targets));
  count = round_up(count, replicas);
  // One micro-batch an example always works, so this ends.
  std::optional<std::vector<Bin>> bins;
  while (!(bins = distribute(longest_first, sizes, largest, static_cast<size_t>(count)))) {
    count += replicas;
  }
  // Those that run at once are of nearly one length.
  if (replicas > 1) {
    std::stable_sort(bins->begin(), bins->end(),
                     [](const Bin& a, const Bin& b) { return a.slots() > b.slots(); });
  }

  std::vector<MicroBatch> placements;
  auto width = static_cast<size_t>(replicas);
  for (size_t first = 0; first < bins->size(); first += width) {
    std::span<const Bin> group(bins->data() + first, width);
    if (std::all_of(group.begin(), group.end(),
                    [](const Bin& bin) { return bin.members().empty(); })) {
      continue;
    }
    for (const Bin& bin : smallest(group, sizes, capacities)) {
      placements.push_back(bin.finish(sizes));
    }
  }
  return placements;
}

std::vector<Capacity> choose_capacities(const CapacityNeeds& needs) {
  check(needs.longest >= 1 && needs.batch_size >= 1, "a capacity is chosen for some example");
  if (needs.budget > 0 && needs.budget < needs.longest) {
    throw usage_error(
        "memory allows {} tokens at once, too few for one example of max_seq_length {}: raise "
        "--memory or lower --max_seq_length",
        needs.budget, needs.longest);
  }
  double slots = 0, targets = 0;
  for (const ExampleSize& size : needs.sample) {
    slots += static_cast<double>(size.slots);
    targets += static_cast<double>(size.targets);
  }
  auto sampled = static_cast<double>(needs.sample.size());
  double mean = slots > 0 ? slots / sampled : static_cast<double>(needs.longest);
  double target_ratio =
      slots > 0 ? targets / slots
                : static_cast<double>(needs.most_targets) / static_cast<double>(needs.longest);

  int64_t row = needs.row_slots > 0 ? std::max(needs.row_slots, needs.longest) : 0;
  int64_t unit = row > 0 ? row : 8;  // what a micro-batch grows by
  // Of one replica. Each is given the same number of slots, nearly, not the same number of examples.
  int64_t share = ceil_divide(needs.batch_size, needs.replicas);
  int64_t largest = round_up(share * needs.longest, unit);
  if (needs.budget > 0) {
    int64_t allowed = needs.budget / unit * unit;
    largest = std::min(largest, std::max(allowed, round_up(needs.longest, unit)));
  }
  double batch = static_cast<double>(needs.batch_size) / static_cast<double>(needs.replicas);
  double expected = batch * mean / std::ceil(batch * mean / static_cast<double>(largest));
  auto capacity = [&](int64_t size) {
    Capacity c;
    c.rows = row > 0 ? size / row : 1;
    c.slots = row > 0 ? row : size;
    auto wanted = static_cast<int64_t>(std::ceil(1.25 * static_cast<double>(size) / mean)) + 1;
    c.examples = std::min(needs.batch_size, wanted);  // with replicas, some get more than others
    if (needs.most_targets > 0) {
      auto likely =
          static_cast<int64_t>(std::ceil(1.05 * target_ratio * static_cast<double>(size)));
      c.targets = std::max(needs.most_targets, round_up(likely + 4, 8));
      c.targets = std::min(c.targets, c.examples * needs.most_targets);
    }
    return c;
  };
  std::vector<Capacity> capacities;
  double floor = std::max(static_cast<double>(unit), std::min(16.0, expected));
  int64_t before = 0;
  for (auto size = static_cast<double>(largest); size >= floor;) {
    int64_t rounded = std::min(largest, round_up(static_cast<int64_t>(size), unit));
    if (rounded != before) capacities.push_back(capacity(rounded));
    before = rounded;
    bool near = size < 2 * expected && size > 0.5 * expected;
    size /= near ? 1.04 : 1.15;
  }
  std::reverse(capacities.begin(), capacities.end());
  return capacities;
}

}  // namespace bertrain
