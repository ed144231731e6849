// Rows of a device: little waste on real lengths, few programs, none where rows are full.
#include "data/placement/row_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/rng.h"

namespace bertrain {
namespace {

struct Length {
  int64_t tokens, count;
};
// The descriptions of Debian 12's packages that the demo trains on, by its vocabulary of 8000 pieces,
// cut at 128.
constexpr Length kDescriptions[] = {
    {8, 1},     {10, 1},    {12, 6},    {13, 7},    {14, 14},   {15, 18},   {16, 25},   {17, 28},
    {18, 50},   {19, 47},   {20, 52},   {21, 73},   {22, 80},   {23, 93},   {24, 126},  {25, 94},
    {26, 125},  {27, 130},  {28, 141},  {29, 151},  {30, 166},  {31, 186},  {32, 223},  {33, 214},
    {34, 251},  {35, 278},  {36, 300},  {37, 361},  {38, 426},  {39, 374},  {40, 460},  {41, 423},
    {42, 424},  {43, 451},  {44, 497},  {45, 439},  {46, 480},  {47, 484},  {48, 516},  {49, 493},
    {50, 522},  {51, 518},  {52, 508},  {53, 504},  {54, 504},  {55, 554},  {56, 481},  {57, 507},
    {58, 540},  {59, 541},  {60, 498},  {61, 489},  {62, 455},  {63, 439},  {64, 397},  {65, 476},
    {66, 446},  {67, 441},  {68, 393},  {69, 441},  {70, 384},  {71, 425},  {72, 393},  {73, 411},
    {74, 368},  {75, 410},  {76, 360},  {77, 344},  {78, 324},  {79, 353},  {80, 377},  {81, 329},
    {82, 325},  {83, 327},  {84, 345},  {85, 358},  {86, 311},  {87, 296},  {88, 300},  {89, 316},
    {90, 272},  {91, 248},  {92, 268},  {93, 261},  {94, 276},  {95, 248},  {96, 253},  {97, 244},
    {98, 275},  {99, 248},  {100, 210}, {101, 233}, {102, 230}, {103, 233}, {104, 225}, {105, 186},
    {106, 235}, {107, 208}, {108, 206}, {109, 182}, {110, 173}, {111, 186}, {112, 167}, {113, 186},
    {114, 192}, {115, 182}, {116, 162}, {117, 185}, {118, 158}, {119, 171}, {120, 156}, {121, 153},
    {122, 117}, {123, 134}, {124, 128}, {125, 129}, {126, 149}, {127, 129}, {128, 6833}};

std::vector<ExampleSize> drawn(uint64_t seed, int64_t count) {
  static const std::vector<int64_t> all = [] {
    std::vector<int64_t> tokens;
    for (const Length& length : kDescriptions) {
      tokens.insert(tokens.end(), static_cast<size_t>(length.count), length.tokens);
    }
    return tokens;
  }();
  Block key = key_of(seed, "descriptions", 0);
  std::vector<ExampleSize> sizes;
  for (int64_t i = 0; i < count; ++i) {
    sizes.push_back({all[below(key, static_cast<uint64_t>(i), all.size())], 0});
  }
  return sizes;
}

CapacityNeeds needs_of(int64_t batch, int64_t replicas) {
  CapacityNeeds needs{drawn(1000, 2000), batch, 128, 0, 0, 128};
  needs.replicas = replicas;
  return needs;
}

std::vector<RowLayout> layouts_of(const CapacityNeeds& needs) {
  return RowLayouts(needs).choose(needs.budget);
}

TEST(RowLayout, WastesLittleOnDescriptions) {
  for (int64_t replicas : {1, 2, 4}) {
    for (int64_t batch : {32, 64, 100, 128, 256, 1024}) {
      std::vector<Capacity> capacities = choose_capacities(needs_of(batch, replicas));
      double tokens = 0, slots = 0;
      std::set<int64_t> met;
      for (uint64_t seed = 0; seed < 100; ++seed) {
        std::vector<ExampleSize> sizes = drawn(seed, batch);
        for (const ExampleSize& size : sizes) tokens += static_cast<double>(size.slots);
        std::vector<MicroBatch> placed = place(sizes, capacities, replicas);
        EXPECT_EQ(std::ssize(placed), replicas);
        for (const MicroBatch& part : placed) {
          slots += static_cast<double>(part.capacity.rows * part.capacity.slots);
          met.insert(part.capacity.rows * part.capacity.slots);
        }
      }
      EXPECT_LE(1 - tokens / slots, batch >= 64 ? 0.10 : 0.15)
          << batch << " a batch on " << replicas;
      EXPECT_LE(met.size(), 4U) << batch << " a batch on " << replicas;
    }
  }
}

TEST(RowLayout, LongerRowsOnlyWhereShortOnesWaste) {
  EXPECT_EQ(layouts_of(needs_of(256, 1)).back().slots, 128);
  CapacityNeeds pairs;  // of which no two fit one short row
  pairs.sample.assign(100, {70, 0});
  pairs.batch_size = 65;
  pairs.longest = pairs.row_slots = 128;
  std::vector<RowLayout> layouts = layouts_of(pairs);
  EXPECT_EQ(layouts.back().slots, 384);  // which hold five
  EXPECT_EQ(layouts.front().slots, 384);
}

TEST(RowLayout, FullRowsWasteNothing) {
  for (int64_t replicas : {1, 2, 4}) {
    CapacityNeeds needs = needs_of(32, replicas);
    for (bool sampled : {true, false}) {
      needs.sample.assign(sampled ? 50 : 0, {128, 0});
      std::vector<RowLayout> layouts = layouts_of(needs);
      EXPECT_EQ(layouts.back(), (RowLayout{32 / replicas, 128}));
      std::vector<ExampleSize> full(32, {128, 0});
      for (const MicroBatch& part : place(full, choose_capacities(needs), replicas)) {
        EXPECT_EQ(part.capacity.rows, 32 / replicas);
        EXPECT_EQ(std::ssize(part.members), 32 / replicas);
      }
    }
  }
}

TEST(RowLayout, StaysWithinMemoryAndHoldsTheLongest) {
  for (int64_t replicas : {1, 4}) {
    for (int64_t batch : {1, 8, 64}) {
      for (int64_t budget : {128, 129, 300, 1000, 5000}) {
        CapacityNeeds needs = needs_of(batch, replicas);
        needs.budget = budget;
        std::vector<RowLayout> layouts = layouts_of(needs);
        EXPECT_GE(layouts.back().slots, 128);
        EXPECT_LE(layouts.back().rows * layouts.back().slots, budget);
        for (size_t i = 1; i < layouts.size(); ++i) {
          EXPECT_LE(layouts[i - 1].rows, layouts[i].rows);
          EXPECT_LE(layouts[i - 1].slots, layouts[i].slots);
          EXPECT_NE(layouts[i - 1], layouts[i]);
        }
      }
    }
  }
}

TEST(RowLayout, DrawsNoMoreForTheLargestBatches) {
  CapacityNeeds most = needs_of(RowLayouts::kMostDrawn, 2);
  EXPECT_EQ(RowLayouts(most).drawn(), 8 * RowLayouts::kMostDrawn);
  std::vector<RowLayout> drawn = layouts_of(most);
  std::vector<RowLayout> within = RowLayouts(most).choose(20000);
  most.batch_size = 256 * RowLayouts::kMostDrawn;
  EXPECT_EQ(RowLayouts(most).drawn(), 8 * RowLayouts::kMostDrawn);
  // Each of the drawn ones stands for 256: as many rows more, and what memory allows is the same.
  std::vector<RowLayout> scaled = layouts_of(most);
  EXPECT_EQ(scaled.back(), (RowLayout{256 * drawn.back().rows, drawn.back().slots}));
  EXPECT_EQ(RowLayouts(most).choose(20000).back(), within.back());
  auto met = [&](const RowLayout& layout) {
    return std::count(scaled.begin(), scaled.end(), RowLayout{256 * layout.rows, layout.slots});
  };
  EXPECT_GE(std::count_if(drawn.begin(), drawn.end(), met), 3);  // those that the draws need
}

// Two of these do not fit one short row, so that one row is tried, too; memory makes it many of them.
TEST(RowLayout, OfTheLargestBatchesInLittleMemoryIsThatOfAPart) {
  CapacityNeeds needs;
  needs.sample.assign(100, {70, 0});
  needs.longest = needs.row_slots = 128;
  needs.budget = 210;  // of which 128 are used, as rows grow by so many
  needs.batch_size = 4096;
  std::vector<RowLayout> part = layouts_of(needs);
  needs.batch_size = int64_t{1} << 24;
  EXPECT_EQ(layouts_of(needs), part);
}

TEST(RowLayout, IsTheSameWhateverBudgetWasTriedBefore) {
  RowLayouts layouts(needs_of(64, 2));
  layouts.choose(300);
  EXPECT_EQ(layouts.choose(5000), RowLayouts(needs_of(64, 2)).choose(5000));
  EXPECT_EQ(layouts.choose(0), RowLayouts(needs_of(64, 2)).choose(0));
}

TEST(RowLayout, IsAFunctionOfItsArguments) {
  EXPECT_EQ(layouts_of(needs_of(64, 2)), layouts_of(needs_of(64, 2)));
}

}  // namespace
}  // namespace bertrain
