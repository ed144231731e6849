// Rows by their free slots, and micro-batches by how full they are.
#include "data/placement/rows.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace bertrain {
namespace {

// How much of a capacity so many examples and targets are; more than 1: they do not fit.
double load(size_t examples, int64_t targets, const Capacity& capacity) {
  double of_examples = static_cast<double>(examples) / static_cast<double>(capacity.examples);
  if (targets == 0) return of_examples;
  return std::max(of_examples,
                  static_cast<double>(targets) / static_cast<double>(capacity.targets));
}

struct Hand {
  std::vector<const FilledRow*> rows;
  size_t examples = 0;
  int64_t targets = 0;
};

// Rows one after the other, in each its members in the order of their places in the global batch.
MicroBatch laid_out(const Hand& hand, std::span<const ExampleSize> sizes,
                    const Capacity& capacity) {
  std::vector<std::pair<size_t, int64_t>> placed;  // member, first slot
  int64_t start = 0;
  for (const FilledRow* row : hand.rows) {
    std::vector<size_t> members = row->members;
    std::sort(members.begin(), members.end());
    int64_t next = start;
    for (size_t member : members) {
      placed.emplace_back(member, next);
      next += sizes[member].slots;
    }
    start += capacity.slots;
  }
  std::sort(placed.begin(), placed.end());
  MicroBatch micro{capacity, {}, {}};
  for (auto [member, slot] : placed) {
    micro.members.push_back(member);
    micro.first_slot.push_back(slot);
  }
  return micro;
}

}  // namespace

std::vector<FilledRow> fill_rows(std::span<const ExampleSize> sizes, const Capacity& limits) {
  std::vector<size_t> longest_first(sizes.size());
  std::iota(longest_first.begin(), longest_first.end(), size_t{0});
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [&](size_t a, size_t b) { return sizes[a].slots > sizes[b].slots; });
  std::vector<FilledRow> rows;
  std::set<std::pair<int64_t, size_t>> open;  // free slots, row
  for (size_t member : longest_first) {
    const ExampleSize& size = sizes[member];
    auto has_room = [&](const std::pair<int64_t, size_t>& entry) {
      const FilledRow& row = rows[entry.second];
      return std::ssize(row.members) < limits.examples &&
             row.targets + size.targets <= limits.targets;
    };
    auto best = std::find_if(open.lower_bound({size.slots, 0}), open.end(), has_room);
    size_t at = rows.size();
    if (best == open.end()) {
      rows.emplace_back();
    } else {
      at = best->second;
      open.erase(best);
    }
    FilledRow& row = rows[at];
    row.members.push_back(member);
    row.slots += size.slots;
    row.targets += size.targets;
    open.emplace(limits.slots - row.slots, at);
  }
  return rows;
}

std::vector<MicroBatch> deal_rows(std::span<const FilledRow> rows,
                                  std::span<const ExampleSize> sizes, const Capacity& capacity,
                                  size_t count) {
  size_t most = (rows.size() + count - 1) / count;
  if (static_cast<int64_t>(most) > capacity.rows) return {};
  std::vector<const FilledRow*> fullest_first;
  for (const FilledRow& row : rows) fullest_first.push_back(&row);
  auto load_of = [&](const FilledRow* row) {
    return load(row->members.size(), row->targets, capacity);
  };
  std::stable_sort(fullest_first.begin(), fullest_first.end(),
                   [&](const FilledRow* a, const FilledRow* b) { return load_of(a) > load_of(b); });
  std::vector<Hand> hands(count);
  for (const FilledRow* row : fullest_first) {
    Hand* best = nullptr;
    double least = 1;
    for (Hand& hand : hands) {
      if (hand.rows.size() == most) continue;
      double after =
          load(hand.examples + row->members.size(), hand.targets + row->targets, capacity);
      if (after > 1 || (best != nullptr && after >= least)) continue;
      best = &hand;
      least = after;
    }
    if (best == nullptr) return {};
    best->rows.push_back(row);
    best->examples += row->members.size();
    best->targets += row->targets;
  }
  std::stable_sort(hands.begin(), hands.end(),
                   [](const Hand& a, const Hand& b) { return a.rows.size() > b.rows.size(); });
  std::vector<MicroBatch> dealt;
  for (const Hand& hand : hands) dealt.push_back(laid_out(hand, sizes, capacity));
  return dealt;
}

}  // namespace bertrain
