// Capacities for peaks that are given: few programs are compiled, and none of what was refused.
#include "train/capacities.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace bertrain {
namespace {

using Asked = std::vector<std::pair<int64_t, bool>>;  // slots, parts

CapacityNeeds needs_of(int64_t batch_size, int64_t row_slots) {
  CapacityNeeds needs;
  needs.batch_size = batch_size;
  needs.longest = 128;
  needs.row_slots = row_slots;
  return needs;
}

TEST(Capacities, AreHalvedAtOnceWhereACompilerRefuses) {
  CapacityChoice choice;
  choice.memory = 1000;
  Asked asked;
  auto peak_of = [&](const Capacity& c, bool parts) {
    asked.emplace_back(c.rows * c.slots, parts);
    if (c.rows > 5) throw Error("too little memory", ExitCode::failed, true);
    return uint64_t{100};
  };
  std::vector<Capacity> found = fitting_capacities(needs_of(32, 128), choice, peak_of);
  EXPECT_EQ(found.back().rows, 4);
  Asked expected = {
      {32 * 128, false}, {128, true}, {16 * 128, true}, {8 * 128, true}, {4 * 128, true}};
  EXPECT_EQ(asked, expected);
}

// On two devices one example of two is as long as the only one, and still another capacity.
TEST(Capacities, OfAsManySlotsAsTheSmallestAreTaken) {
  CapacityChoice choice;
  choice.memory = 1000;
  CapacityNeeds needs = needs_of(2, 0);
  needs.replicas = 2;
  auto peak_of = [&](const Capacity&, bool parts) { return uint64_t{parts ? 900U : 1100U}; };
  std::vector<Capacity> found = fitting_capacities(needs, choice, peak_of);
  EXPECT_EQ(found.back().slots, 128);
}

// However far the line through two peaks reaches, no more is asked for than a batch has.
TEST(Capacities, OfPartsThatTakeHardlyMoreAreThoseOfTheBatch) {
  CapacityChoice choice;
  choice.memory = uint64_t{1} << 62;
  auto peak_of = [&](const Capacity& c, bool parts) {
    return parts ? static_cast<uint64_t>(1 + c.rows) : (uint64_t{1} << 62) + 1;
  };
  std::vector<Capacity> found = fitting_capacities(needs_of(32, 128), choice, peak_of);
  EXPECT_GE(found.back().rows, 31);
}

}  // namespace
}  // namespace bertrain
