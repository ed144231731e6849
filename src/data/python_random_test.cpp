// Python's random numbers, as CPython gives them.
#include "data/python_random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace bertrain {
namespace {

using testing::ElementsAre;

std::vector<uint32_t> first_words(int64_t seed, int count) {
  PythonRandom random(seed);
  std::vector<uint32_t> words;
  for (int i = 0; i < count; ++i) words.push_back(random.next32());
  return words;
}

TEST(PythonRandom, Words) {
  EXPECT_THAT(first_words(12345, 4), ElementsAre(1789368711u, 3146859322u, 43676229u, 3522623596u));
  EXPECT_THAT(first_words(0, 3), ElementsAre(3626764237u, 1654615998u, 3255389356u));
  EXPECT_THAT(first_words((int64_t{1} << 40) + 3, 3),
              ElementsAre(943978446u, 261273136u, 2359950418u));
  EXPECT_EQ(first_words(-5, 3), first_words(5, 3));
}

TEST(PythonRandom, Floats) {
  PythonRandom random(12345);
  EXPECT_EQ(random.random(), 0.41661987254534116);
  EXPECT_EQ(random.random(), 0.010169169457068361);
  EXPECT_EQ(random.random(), 0.8252065092537432);
}

TEST(PythonRandom, Shuffle) {
  std::vector<int> values(10);
  std::iota(values.begin(), values.end(), 0);
  PythonRandom random(12345);
  random.shuffle(values);
  EXPECT_THAT(values, ElementsAre(8, 7, 3, 5, 1, 2, 9, 4, 0, 6));
  std::vector<int> one = {1};
  random.shuffle(one);  // draws nothing
  std::vector<int> none;
  random.shuffle(none);
}

TEST(PythonRandom, Integers) {
  PythonRandom random(12345);
  for (int64_t expected : {15, 25, 2, 28, 28, 27, 11, 29})
    EXPECT_EQ(random.randint(2, 29), expected);
  // A range of one number draws too, until the bit is 0.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(random.randint(0, 0), 0);
  EXPECT_EQ(random.random(), 0.5660081687288613);
  PythonRandom wide(1);
  for (int64_t expected : {140719340484, 258793550908, 1037017667747}) {
    EXPECT_EQ(wide.randint(0, int64_t{1} << 40), expected);
  }
  for (uint64_t expected : {2798570523u, 3387541014u, 403123852u}) {
    EXPECT_EQ(wide.below(uint64_t{1} << 32), expected);
  }
}

}  // namespace
}  // namespace bertrain
