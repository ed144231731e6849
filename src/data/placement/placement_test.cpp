// Placement: nothing lost, nothing cut, nothing over capacity, little waste.
#include "data/placement/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/rng.h"
#include "data/placement/capacity_choice.h"

namespace bertrain {
namespace {

std::vector<ExampleSize> random_sizes(uint64_t seed, size_t count, int64_t longest,
                                      int64_t most_targets) {
  Block key = key_of(seed, "sizes", 0);
  std::vector<ExampleSize> sizes;
  for (size_t i = 0; i < count; ++i) {
    auto bound = static_cast<uint64_t>(longest);
    auto slots = 1 + static_cast<int64_t>(below(key, 2 * i, bound));
    // Masked positions go with the length, as in pre-training data.
    int64_t targets =
        most_targets == 0 ? 0 : std::min(most_targets, std::max<int64_t>(1, slots * 15 / 100));
    sizes.push_back({slots, targets});
  }
  return sizes;
}

// Every example once, inside one row, apart from the others, all sums within the capacity.
void expect_sound(const std::vector<ExampleSize>& sizes,
                  const std::vector<MicroBatch>& placements) {
  std::set<size_t> seen;
  for (const MicroBatch& p : placements) {
    ASSERT_EQ(p.members.size(), p.first_slot.size());
    EXPECT_LE(static_cast<int64_t>(p.members.size()), p.capacity.examples);
    EXPECT_TRUE(std::is_sorted(p.members.begin(), p.members.end()));
    std::vector<bool> taken(static_cast<size_t>(p.capacity.rows * p.capacity.slots));
    int64_t targets = 0;
    for (size_t m = 0; m < p.members.size(); ++m) {
      EXPECT_TRUE(seen.insert(p.members[m]).second);
      const ExampleSize& size = sizes[p.members[m]];
      int64_t first = p.first_slot[m], last = first + size.slots - 1;
      ASSERT_LT(last, static_cast<int64_t>(taken.size()));
      EXPECT_EQ(first / p.capacity.slots, last / p.capacity.slots);
      for (int64_t slot = first; slot <= last; ++slot) {
        EXPECT_FALSE(taken[static_cast<size_t>(slot)]);
        taken[static_cast<size_t>(slot)] = true;
      }
      targets += size.targets;
    }
    EXPECT_LE(targets, p.capacity.targets);
  }
  EXPECT_EQ(seen.size(), sizes.size());
}

double waste(const std::vector<ExampleSize>& sizes, const std::vector<MicroBatch>& placements) {
  double real = 0, all = 0;
  for (const ExampleSize& size : sizes) real += static_cast<double>(size.slots);
  for (const MicroBatch& p : placements) {
    all += static_cast<double>(p.capacity.rows * p.capacity.slots);
  }
  return 1 - real / all;
}

TEST(Placement, FillsRowsAndClosesAtEveryLimit) {
  std::vector<ExampleSize> sizes = {{5, 1}, {3, 1}, {4, 1}, {2, 1}};
  auto by_slots = place(sizes, std::vector<Capacity>{{1, 7, 9, 9}});
  expect_sound(sizes, by_slots);
  EXPECT_EQ(by_slots.size(), 2u);  // 5 + 2, 4 + 3
  auto by_examples = place(sizes, std::vector<Capacity>{{1, 99, 1, 9}});
  expect_sound(sizes, by_examples);
  EXPECT_EQ(by_examples.size(), 4u);
  auto by_targets = place(sizes, std::vector<Capacity>{{1, 99, 9, 2}});
  expect_sound(sizes, by_targets);
  EXPECT_EQ(by_targets.size(), 2u);
  auto by_rows = place(sizes, std::vector<Capacity>{{2, 7, 9, 9}});
  expect_sound(sizes, by_rows);
  EXPECT_EQ(by_rows.size(), 1u);
  EXPECT_TRUE(place({}, std::vector<Capacity>{{1, 7, 9, 9}}).empty());
}

TEST(Placement, TakesTheFirstCapacityThatHoldsIt) {
  std::vector<Capacity> capacities = {{1, 8, 4, 0}, {1, 16, 4, 0}, {1, 24, 4, 0}};
  std::vector<ExampleSize> sizes = {{5, 0}, {6, 0}};
  auto placements = place(sizes, capacities);
  ASSERT_EQ(placements.size(), 1u);
  EXPECT_EQ(placements[0].capacity, capacities[1]);
  EXPECT_EQ(placements[0].first_slot, (std::vector<int64_t>{0, 5}));  // in the batch's order
}

TEST(Placement, AnExampleThatIsTooLongIsABug) {
  std::vector<ExampleSize> sizes = {{9, 0}};
  EXPECT_THROW(place(sizes, std::vector<Capacity>{{1, 8, 4, 0}}), std::logic_error);
}

TEST(Placement, RandomSizesAreSoundAtEveryShape) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    size_t count = 1 + below(key_of(seed, "count", 0), 0, 90);
    int64_t most_targets = seed % 2 == 0 ? 0 : 20;
    std::vector<ExampleSize> sizes = random_sizes(seed, count, 128, most_targets);
    for (int64_t row : {0, 128, 160}) {
      for (int64_t budget : {0, 130, 500, 2048}) {
        CapacityNeeds needs{sizes, static_cast<int64_t>(count), 128, most_targets, budget, row};
        std::vector<Capacity> capacities = choose_capacities(needs);
        auto placements = place(sizes, capacities);
        expect_sound(sizes, placements);
        if (budget > 0) {
          int64_t limit = std::max(budget, row > 0 ? row : 128);
          for (const MicroBatch& p : placements)
            EXPECT_LE(p.capacity.rows * p.capacity.slots, limit);
        }
      }
    }
  }
}

TEST(Placement, WasteStaysSmall) {
  for (int64_t budget : {0, 1024, 4096}) {
    for (size_t batch : {16, 32, 256}) {
      std::vector<ExampleSize> sample = random_sizes(1000, 2000, 128, 20);
      std::vector<Capacity> capacities =
          choose_capacities({sample, static_cast<int64_t>(batch), 128, 20, budget, 0});
      double sum = 0;
      std::set<std::vector<int64_t>> met;
      for (uint64_t seed = 0; seed < 50; ++seed) {
        std::vector<ExampleSize> sizes = random_sizes(seed, batch, 128, 20);
        auto placements = place(sizes, capacities);
        sum += waste(sizes, placements);
        for (const MicroBatch& p : placements) met.insert({p.capacity.slots, p.capacity.targets});
      }
      EXPECT_LE(sum / 50, 0.03) << "batch " << batch << ", budget " << budget;
      EXPECT_LE(met.size(), 24u);
    }
  }
}

TEST(Placement, RowsOfADeviceWasteLittleFrom64ExamplesABatch) {
  std::vector<ExampleSize> sample = random_sizes(1000, 2000, 128, 20);
  std::vector<Capacity> capacities = choose_capacities({sample, 64, 128, 20, 0, 128});
  double sum = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<ExampleSize> sizes = random_sizes(seed, 64, 128, 20);
    sum += waste(sizes, place(sizes, capacities));
  }
  EXPECT_LE(sum / 50, 0.10);
}

TEST(Placement, ReplicasRunGroupsOfOneCapacity) {
  for (int64_t replicas : {2, 4}) {
    for (uint64_t seed = 0; seed < 30; ++seed) {
      size_t count = 1 + below(key_of(seed, "count", 0), 0, 70);
      std::vector<ExampleSize> sizes = random_sizes(seed, count, 128, seed % 2 == 0 ? 0 : 20);
      for (int64_t row : {0, 128}) {
        for (int64_t budget : {0, 500}) {
          CapacityNeeds needs{random_sizes(1000, 500, 128, 20), 70, 128, 20, budget, row, replicas};
          auto placements = place(sizes, choose_capacities(needs), replicas);
          expect_sound(sizes, placements);
          size_t width = static_cast<size_t>(replicas);
          ASSERT_EQ(placements.size() % width, 0U);
          if (budget == 0) {
            EXPECT_EQ(placements.size(), width);
          }
          for (size_t i = 0; i < placements.size(); i += width) {
            int64_t members = 0;
            for (size_t r = 0; r < width; ++r) {
              EXPECT_EQ(placements[i + r].capacity, placements[i].capacity);
              members += std::ssize(placements[i + r].members);
            }
            EXPECT_GT(members, 0);
          }
        }
      }
    }
  }
  std::vector<Capacity> capacities = {{1, 10, 2, 0}, {1, 20, 4, 0}};
  auto one =
      place(std::vector<ExampleSize>{{7, 0}}, capacities, 4);  // fewer examples than replicas
  ASSERT_EQ(one.size(), 4U);
  EXPECT_EQ(one[0].members, (std::vector<size_t>{0}));
  for (size_t r : {1, 2, 3}) EXPECT_TRUE(one[r].members.empty());
  auto unequal = place(std::vector<ExampleSize>{{7, 0}, {13, 0}}, capacities, 2);
  EXPECT_EQ(unequal[0].capacity, capacities[1]);
  EXPECT_EQ(unequal[1].capacity, capacities[1]);
}

TEST(Placement, CapacitiesAscendAndHoldTheLongestExample) {
  std::vector<Capacity> capacities =
      choose_capacities({random_sizes(3, 500, 512, 76), 64, 512, 76, 3000, 0});
  ASSERT_GT(capacities.size(), 1u);
  for (size_t i = 1; i < capacities.size(); ++i) {
    EXPECT_LT(capacities[i - 1].slots, capacities[i].slots);
    EXPECT_LE(capacities[i - 1].examples, capacities[i].examples);
    EXPECT_LE(capacities[i - 1].targets, capacities[i].targets);
  }
  EXPECT_TRUE(fits({512, 76}, capacities.back()));
  EXPECT_LE(capacities.back().slots, 3000);
  EXPECT_THROW(choose_capacities({{}, 8, 512, 0, 511, 0}), Error);
}

}  // namespace
}  // namespace bertrain
