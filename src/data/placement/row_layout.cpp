// Tries multiples on batches drawn from the sample.
#include "data/placement/row_layout.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/rng.h"
#include "data/placement/rows.h"

namespace bertrain {
namespace {

constexpr int64_t kGrowth = 128;  // slots that a device computes together
// Attention in longer rows costs a model of the usual size more than what it saves.
constexpr int64_t kLongestRow = 2048;
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;

int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

using Sizes = std::vector<ExampleSize>;

// Batches as they may come: drawn from the sample, always the same ones.
std::vector<Sizes> drawn_batches(const CapacityNeeds& needs) {
  auto size = static_cast<size_t>(needs.batch_size);
  if (needs.sample.empty()) return {Sizes(size, {needs.longest, 0})};
  std::vector<Sizes> batches(std::clamp<size_t>(32768 / size, 8, 128));
  for (size_t i = 0; i < batches.size(); ++i) {
    Block key = key_of(0, "row_layout", static_cast<uint32_t>(i));
    for (size_t e = 0; e < size; ++e) {
      batches[i].push_back(needs.sample[below(key, e, needs.sample.size())]);
    }
  }
  return batches;
}

// How often a size of a program is needed; sizes are counted in what they grow by.
using Counts = std::map<int64_t, int64_t>;

struct Chosen {
  std::vector<int64_t> sizes;  // ascending
  int64_t total = 0;           // of all that is needed, each rounded up to the next size
};

// At most `most` sizes, such that rounding up adds least.
Chosen few_sizes(const Counts& needed, size_t most) {
  // best[i]: for the i smallest needs, the last of which is the largest size
  std::vector<Chosen> best(1);
  int64_t count = 0;
  std::vector<int64_t> values, counts = {0};
  for (const auto& [size, times] : needed) {
    values.push_back(size);
    counts.push_back(count += times);
    best.push_back({{size}, size * count});
  }
  for (size_t sizes = 2; sizes <= most; ++sizes) {
    std::vector<Chosen> better = best;
    for (size_t i = 1; i < best.size(); ++i) {
      for (size_t before = 1; before < i; ++before) {
        int64_t total = best[before].total + (counts[i] - counts[before]) * values[i - 1];
        if (total >= better[i].total) continue;
        better[i] = best[before];
        better[i].sizes.push_back(values[i - 1]);
        better[i].total = total;
      }
    }
    best = std::move(better);
  }
  return best.back();
}

// One way to make rows: so many slots each, or (`grows`) one row that grows by so many.
struct Rows {
  int64_t slots = 0;
  bool grows = false;
};

class Trials {
 public:
  explicit Trials(const CapacityNeeds& needs) : needs_(needs), batches_(drawn_batches(needs)) {
    for (const Sizes& batch : batches_) {
      for (const ExampleSize& size : batch) tokens_ += size.slots;
    }
  }

  // Of one replica, in rows or in what the one row grows by: what any batch needs, or memory allows.
  int64_t largest(const Rows& rows) const {
    int64_t size, least = 1;
    if (rows.grows) {
      size =
          ceil_divide(ceil_divide(needs_.batch_size, needs_.replicas) * needs_.longest, rows.slots);
      least = ceil_divide(needs_.longest, rows.slots);
    } else {
      int64_t in_row = rows.slots / needs_.longest;
      size = ceil_divide(ceil_divide(needs_.batch_size, in_row), needs_.replicas);
    }
    return needs_.budget > 0 ? std::clamp(needs_.budget / rows.slots, least, size) : size;
  }

  Counts needed(const Rows& rows) const {
    Counts counts;
    int64_t most = largest(rows);
    for (const Sizes& batch : batches_) {
      if (rows.grows) {
        count_grown(batch, rows.slots, most, counts);
        continue;
      }
      int64_t all = std::ssize(fill_rows(batch, {1, rows.slots, kUnlimited, kUnlimited}));
      int64_t groups = ceil_divide(all, most * needs_.replicas);
      counts[ceil_divide(all, groups * needs_.replicas)] += groups;
    }
    return counts;
  }

  double waste(const Rows& rows, const Chosen& chosen) const {
    return 1 - static_cast<double>(tokens_) /
                   static_cast<double>(chosen.total * rows.slots * needs_.replicas);
  }

 private:
  void count_grown(const Sizes& batch, int64_t unit, int64_t most, Counts& counts) const {
    std::vector<Capacity> one = {{1, most * unit, kUnlimited, kUnlimited}};
    std::vector<MicroBatch> placed = place(batch, one, needs_.replicas);
    for (size_t first = 0; first < placed.size(); first += static_cast<size_t>(needs_.replicas)) {
      int64_t longest = 1;
      for (int64_t r = 0; r < needs_.replicas; ++r) {
        const MicroBatch& part = placed[first + static_cast<size_t>(r)];
        if (part.members.empty()) continue;
        longest = std::max(longest, part.first_slot.back() + batch[part.members.back()].slots);
      }
      ++counts[ceil_divide(longest, unit)];
    }
  }

  const CapacityNeeds& needs_;
  std::vector<Sizes> batches_;
  int64_t tokens_ = 0;
};

// With sizes for batches that are longer than any that was drawn, and for shorter ones, as at the end
// of a pass.
std::vector<int64_t> completed(std::vector<int64_t> sizes, int64_t largest) {
  int64_t least = sizes.front(), most = sizes.back();
  for (int64_t size = most + std::max<int64_t>(1, (most - least + 1) / 2); size < largest;
       size += 1 + size / 4) {
    sizes.push_back(size);
  }
  if (largest > most) sizes.push_back(largest);
  for (int64_t size = least * 2 / 3; size >= 1; size = size * 2 / 3) sizes.push_back(size);
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

}  // namespace

std::vector<RowLayout> choose_row_layouts(const CapacityNeeds& needs) {
  constexpr int64_t kMultiples = 8;
  constexpr size_t kSizes = 3;
  const double limit = needs.batch_size >= 64 ? 0.10 : 0.15;
  int64_t unit = std::max(needs.row_slots, needs.longest);
  Trials trials(needs);
  Rows best;
  Chosen sizes;
  double least = 1;
  for (int64_t multiple = 1; multiple <= kMultiples + 1 && least > 0.9 * limit; ++multiple) {
    bool grows = multiple > kMultiples;
    if (grows && least <= 0.95 * limit) break;
    Rows rows{grows ? std::min(unit, kGrowth) : multiple * unit, grows};
    if (multiple > 1 && needs.budget > 0 && rows.slots > needs.budget) continue;
    Chosen chosen = few_sizes(trials.needed(rows), kSizes);
    int64_t longest = grows ? chosen.sizes.back() * rows.slots : rows.slots;
    if (multiple > 1 && longest > kLongestRow) continue;
    double waste = trials.waste(rows, chosen);
    if (waste >= least) continue;
    best = rows;
    sizes = std::move(chosen);
    least = waste;
  }
  std::vector<RowLayout> layouts;
  for (int64_t size : completed(sizes.sizes, trials.largest(best))) {
    layouts.push_back(best.grows ? RowLayout{1, size * best.slots} : RowLayout{size, best.slots});
  }
  return layouts;
}

}  // namespace bertrain
