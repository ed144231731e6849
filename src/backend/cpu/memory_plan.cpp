// Greedy placement by size.
#include "backend/cpu/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace bertrain {

MemoryPlan plan_memory(const std::vector<Lifetime>& values) {
  constexpr size_t kAlign = 64;
  MemoryPlan plan;
  plan.offsets.resize(values.size());
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a].bytes > values[b].bytes; });
  std::vector<size_t> placed;  // sorted by offset
  for (size_t v : order) {
    size_t size = (values[v].bytes + kAlign - 1) / kAlign * kAlign, at = 0;
    for (size_t other : placed) {
      if (values[other].last < values[v].first || values[v].last < values[other].first) continue;
      if (plan.offsets[other] >= at + size) break;  // the gap before it is wide enough
      size_t end = plan.offsets[other] + (values[other].bytes + kAlign - 1) / kAlign * kAlign;
      at = std::max(at, end);
    }
    plan.offsets[v] = at;
    plan.bytes = std::max(plan.bytes, at + size);
    auto later = [&](size_t other) { return plan.offsets[other] > at; };
    placed.insert(std::find_if(placed.begin(), placed.end(), later), v);
  }
  return plan;
}

}  // namespace bertrain
