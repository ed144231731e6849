// Longest first to the emptiest micro-batch, or to the fullest row that still has room.
#include "data/placement/placement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "data/placement/rows.h"

namespace bertrain {
namespace {

int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t unit) { return ceil_divide(a, unit) * unit; }

// One long row while it is being filled.
class Bin {
 public:
  explicit Bin(const Capacity& capacity) : capacity_(capacity) {}

  int64_t slots() const { return slots_; }

  bool add(size_t member, const ExampleSize& size) {
    if (std::ssize(members_) >= capacity_.examples || slots_ + size.slots > capacity_.slots ||
        targets_ + size.targets > capacity_.targets) {
      return false;
    }
    members_.push_back(member);
    slots_ += size.slots;
    targets_ += size.targets;
    return true;
  }

  const std::vector<size_t>& members() const { return members_; }

  // Slots are given in the order of places in the global batch, not of lengths.
  MicroBatch finish(std::span<const ExampleSize> sizes) const {
    MicroBatch placement{capacity_, members_, {}};
    std::sort(placement.members.begin(), placement.members.end());
    int64_t next = 0;
    for (size_t member : placement.members) {
      placement.first_slot.push_back(next);
      next += sizes[member].slots;
    }
    return placement;
  }

 private:
  Capacity capacity_;
  int64_t slots_ = 0, targets_ = 0;
  std::vector<size_t> members_;
};

std::optional<std::vector<Bin>> distribute(std::span<const size_t> longest_first,
                                           std::span<const ExampleSize> sizes,
                                           const Capacity& capacity, size_t count) {
  std::vector<Bin> bins(count, Bin(capacity));
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});  // emptiest first
  for (size_t member : longest_first) {
    auto bin = std::find_if(order.begin(), order.end(),
                            [&](size_t b) { return bins[b].add(member, sizes[member]); });
    if (bin == order.end()) return std::nullopt;
    // Again by slots: before those that now have as many.
    auto place = std::lower_bound(bin + 1, order.end(), bins[*bin].slots(),
                                  [&](size_t b, int64_t slots) { return bins[b].slots() < slots; });
    std::rotate(bin, bin + 1, place);
  }
  return bins;
}

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

// Fewer than these do not hold the long ones: of those beyond a third of a bin two go into one, and so
// on. A multiple of `replicas`.
size_t least_bins(std::span<const size_t> longest_first, std::span<const ExampleSize> sizes,
                  int64_t slots, size_t replicas) {
  int64_t least = 1, longer = 0;
  for (int64_t in_one = 1; in_one <= 8; ++in_one) {
    while (longer < std::ssize(longest_first) &&
           sizes[longest_first[static_cast<size_t>(longer)]].slots * (in_one + 1) > slots) {
      ++longer;
    }
    least = std::max(least, ceil_divide(longer, in_one));
  }
  return static_cast<size_t>(round_up(least, static_cast<int64_t>(replicas)));
}

// In one long row each: the slots spread evenly over `count` micro-batches, or more of them.
std::vector<MicroBatch> place_evenly(std::span<const ExampleSize> sizes,
                                     std::span<const Capacity> capacities, size_t count,
                                     size_t replicas) {
  std::vector<size_t> longest_first(sizes.size());
  std::iota(longest_first.begin(), longest_first.end(), size_t{0});
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [&](size_t a, size_t b) { return sizes[a].slots > sizes[b].slots; });
  count = std::max(count, least_bins(longest_first, sizes, capacities.back().slots, replicas));
  // One micro-batch an example always works, so this ends.
  std::optional<std::vector<Bin>> bins;
  while (!(bins = distribute(longest_first, sizes, capacities.back(), count))) count += replicas;
  // Those that run at once are of nearly one length.
  if (replicas > 1) {
    std::stable_sort(bins->begin(), bins->end(),
                     [](const Bin& a, const Bin& b) { return a.slots() > b.slots(); });
  }
  std::vector<MicroBatch> placements;
  for (size_t first = 0; first < bins->size(); first += replicas) {
    std::span<const Bin> group(bins->data() + first, replicas);
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

std::vector<MicroBatch> place_by_rows(std::span<const ExampleSize> sizes,
                                      std::span<const Capacity> capacities, size_t count,
                                      size_t replicas) {
  const Capacity& largest = capacities.back();
  std::map<int64_t, std::vector<FilledRow>> filled;  // by the slots of a row
  for (;; count += replicas) {                       // a micro-batch for each row always works
    for (const Capacity& capacity : capacities) {
      if (!std::all_of(sizes.begin(), sizes.end(),
                       [&](const ExampleSize& size) { return fits(size, capacity); })) {
        continue;
      }
      std::vector<FilledRow>& rows = filled[capacity.slots];
      if (rows.empty()) {
        rows = fill_rows(sizes, {1, capacity.slots, largest.examples, largest.targets});
      }
      std::vector<MicroBatch> dealt = deal_rows(rows, sizes, capacity, count);
      if (!dealt.empty()) return dealt;
    }
  }
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
  int64_t count =
      std::max<int64_t>(1, ceil_divide(static_cast<int64_t>(sizes.size()), largest.examples));
  count = std::max(count, ceil_divide(slots, largest.rows * largest.slots));
  if (targets > 0) count = std::max(count, ceil_divide(targets, largest.targets));
  count = round_up(count, replicas);
  auto groups_of = static_cast<size_t>(replicas);
  return largest.rows == 1
             ? place_evenly(sizes, capacities, static_cast<size_t>(count), groups_of)
             : place_by_rows(sizes, capacities, static_cast<size_t>(count), groups_of);
}

}  // namespace bertrain
