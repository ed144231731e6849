// Values that live together never overlap, and values that do not share memory.
#include "backend/cpu/memory_plan.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace bertrain {
namespace {

TEST(MemoryPlan, ReusesMemoryOfDeadValues) {
  MemoryPlan plan = plan_memory({{1000, 0, 1}, {1000, 2, 3}, {64, 1, 2}});
  EXPECT_EQ(plan.offsets[0], plan.offsets[1]);
  EXPECT_EQ(plan.bytes, 1024u + 64u);
}

TEST(MemoryPlan, NoTwoLivingValuesOverlap) {
  std::vector<Lifetime> values;
  for (uint64_t i = 0; i < 400; ++i) {
    int64_t first = static_cast<int64_t>(below({1, 1}, i, 300));
    values.push_back({static_cast<size_t>(below({1, 2}, i, 5000)), first,
                      first + static_cast<int64_t>(below({1, 3}, i, 60))});
  }
  MemoryPlan plan = plan_memory(values);
  size_t sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    sum += values[i].bytes;
    ASSERT_LE(plan.offsets[i] + values[i].bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      bool together = values[i].first <= values[j].last && values[j].first <= values[i].last;
      bool apart = plan.offsets[i] + values[i].bytes <= plan.offsets[j] ||
                   plan.offsets[j] + values[j].bytes <= plan.offsets[i];
      ASSERT_TRUE(!together || apart) << i << " and " << j;
    }
  }
  EXPECT_LT(plan.bytes, sum / 3);  // on average 42 of 400 live at one time
}

}  // namespace
}  // namespace bertrain
