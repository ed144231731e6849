// Tries multiples on batches drawn from the sample.
#include "data/placement/row_layout.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>

#include "base/rng.h"
#include "data/placement/rows.h"

namespace bertrain {
namespace {

constexpr int64_t kGrowth = 128;  // slots that a device computes together
// Attention in longer rows costs a model of the usual size more than what it saves.
constexpr int64_t kLongestRow = 2048;
constexpr int64_t kMostPlaced = 4096;  // examples in one row that grows, beyond a group of them
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;

int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

using Sizes = std::vector<ExampleSize>;

// Examples of a batch that each one of those drawn for it stands for.
int64_t stand_ins(const CapacityNeeds& needs) {
  return ceil_divide(needs.batch_size, RowLayouts::kMostDrawn);
}

// Batches as they may come: drawn from the sample, always the same ones.
std::vector<Sizes> drawn_batches(const CapacityNeeds& needs) {
  auto size = static_cast<size_t>(ceil_divide(needs.batch_size, stand_ins(needs)));
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

// What the batches need of such rows, and the tokens that they put there.
struct Trial {
  Counts needed;
  int64_t tokens = 0;
};

int64_t tokens_of(std::span<const ExampleSize> sizes) {
  int64_t tokens = 0;
  for (const ExampleSize& size : sizes) tokens += size.slots;
  return tokens;
}

}  // namespace

class Trials {
 public:
  explicit Trials(const CapacityNeeds& needs)
      : needs_(needs), each_(stand_ins(needs)), batches_(drawn_batches(needs)) {}

  const CapacityNeeds& needs() const { return needs_; }
  const std::vector<Sizes>& batches() const { return batches_; }

  // Of one replica, in rows or in what the one row grows by: what any batch needs, or memory allows.
  int64_t largest(const Rows& rows, int64_t budget) const {
    int64_t size, least = 1;
    if (rows.grows) {
      size =
          ceil_divide(ceil_divide(needs_.batch_size, needs_.replicas) * needs_.longest, rows.slots);
      least = ceil_divide(needs_.longest, rows.slots);
    } else {
      int64_t in_row = rows.slots / needs_.longest;
      size = ceil_divide(ceil_divide(needs_.batch_size, in_row), needs_.replicas);
    }
    return budget > 0 ? std::clamp(budget / rows.slots, least, size) : size;
  }

  // Nothing where one row would be longer than it may be.
  std::optional<Trial> tried(const Rows& rows, int64_t budget) {
    int64_t most = largest(rows, budget);
    if (rows.grows) return grown(rows.slots, most);
    Trial trial;
    const std::vector<int64_t>& filled = rows_of(rows.slots);
    for (size_t i = 0; i < batches_.size(); ++i) {
      int64_t all = filled[i] * each_;
      int64_t groups = ceil_divide(all, most * needs_.replicas);
      trial.needed[ceil_divide(all, groups * needs_.replicas)] += groups;
      trial.tokens += tokens_of(batches_[i]) * each_;
    }
    return trial;
  }

 private:
  // Rows of so many slots that each batch fills, whatever the budget.
  const std::vector<int64_t>& rows_of(int64_t slots) {
    std::vector<int64_t>& filled = filled_[slots];
    if (!filled.empty()) return filled;
    for (const Sizes& batch : batches_) {
      filled.push_back(std::ssize(fill_rows(batch, {1, slots, kUnlimited, kUnlimited})));
    }
    return filled;
  }

  std::optional<Trial> grown(int64_t unit, int64_t most) const {
    Trial trial;
    for (const Sizes& batch : batches_) {
      int64_t at_once = most * unit * needs_.replicas;
      int64_t groups = ceil_divide(tokens_of(batch) * each_, at_once);
      if (tokens_of(batch) * each_ > groups * kLongestRow * needs_.replicas) return {};
      // A batch that memory cuts into many groups is like a part of it that is cut into some: placing
      // takes more than linear time.
      int64_t cuts = std::min(groups, ceil_divide(needs_.batch_size, kMostPlaced));
      auto part = std::span(batch).first(static_cast<size_t>(
          std::min(std::ssize(batch), ceil_divide(needs_.batch_size, std::max<int64_t>(cuts, 1)))));
      count_grown(part, unit, most, trial.needed);
      trial.tokens += tokens_of(part);
    }
    return trial;
  }

  void count_grown(std::span<const ExampleSize> batch, int64_t unit, int64_t most,
                   Counts& counts) const {
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

  CapacityNeeds needs_;
  int64_t each_ = 1;
  std::vector<Sizes> batches_;
  std::map<int64_t, std::vector<int64_t>> filled_;  // by the slots of a row
};

namespace {

double waste_of(const Trial& trial, const Chosen& chosen, const Rows& rows, int64_t replicas) {
  return 1 - static_cast<double>(trial.tokens) /
                 static_cast<double>(chosen.total * rows.slots * replicas);
}

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

RowLayouts::RowLayouts(const CapacityNeeds& needs) : trials_(std::make_unique<Trials>(needs)) {}

RowLayouts::~RowLayouts() = default;

int64_t RowLayouts::drawn() const {
  int64_t drawn = 0;
  for (const Sizes& batch : trials_->batches()) drawn += std::ssize(batch);
  return drawn;
}

std::vector<RowLayout> RowLayouts::choose(int64_t budget) {
  constexpr int64_t kMultiples = 8;
  constexpr size_t kSizes = 3;
  const CapacityNeeds& needs = trials_->needs();
  const double limit = needs.batch_size >= 64 ? 0.10 : 0.15;
  int64_t unit = std::max(needs.row_slots, needs.longest);
  Rows best;
  Chosen sizes;
  double least = 1;
  for (int64_t multiple = 1; multiple <= kMultiples + 1 && least > 0.9 * limit; ++multiple) {
    bool grows = multiple > kMultiples;
    if (grows && least <= 0.95 * limit) break;
    Rows rows{grows ? std::min(unit, kGrowth) : multiple * unit, grows};
    if (multiple > 1 && budget > 0 && rows.slots > budget) continue;
    if (multiple > 1 && !grows && rows.slots > kLongestRow) continue;
    std::optional<Trial> trial = trials_->tried(rows, budget);
    if (!trial) continue;
    Chosen chosen = few_sizes(trial->needed, kSizes);
    if (grows && chosen.sizes.back() * rows.slots > kLongestRow) continue;
    double waste = waste_of(*trial, chosen, rows, needs.replicas);
    if (waste >= least) continue;
    best = rows;
    sizes = std::move(chosen);
    least = waste;
  }
  std::vector<RowLayout> layouts;
  for (int64_t size : completed(sizes.sizes, trials_->largest(best, budget))) {
    layouts.push_back(best.grows ? RowLayout{1, size * best.slots} : RowLayout{size, best.slots});
  }
  return layouts;
}

}  // namespace bertrain
