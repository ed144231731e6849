// Streams: the same examples after a skip as after reading, in every composition.
#include "data/streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/machine.h"
#include "data/prefetch.h"
#include "data/shuffle.h"

namespace bertrain {
namespace {

std::vector<Example> numbered(int64_t count) {
  std::vector<Example> examples;
  for (int64_t i = 0; i < count; ++i) {
    examples.push_back({{"n", std::vector<int64_t>{i}}});
  }
  return examples;
}

// A source that only reads forward, as a file does.
class Forward final : public Stream<Example> {
 public:
  explicit Forward(int64_t count) : count_(count) {}
  std::optional<Example> next() override {
    if (at_ == count_) return std::nullopt;
    return Example{{"n", std::vector<int64_t>{at_++}}};
  }
  uint64_t skip(uint64_t count) override {
    int64_t skipped = std::min(static_cast<int64_t>(count), count_ - at_);
    at_ += skipped;
    return static_cast<uint64_t>(skipped);
  }

 private:
  int64_t count_, at_ = 0;
};

int64_t number(const Example& example) {
  return std::get<std::vector<int64_t>>(example.at("n")).at(0);
}

std::vector<int64_t> drain(Stream<Example>& stream, size_t limit = 1000000) {
  std::vector<int64_t> numbers;
  while (numbers.size() < limit) {
    auto example = stream.next();
    if (!example) break;
    numbers.push_back(number(*example));
  }
  return numbers;
}

std::vector<int64_t> iota(int64_t count) {
  std::vector<int64_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Reading a, skipping b, then reading on must equal reading all and leaving b out.
void expect_skips(const std::function<ExampleStream()>& make, size_t limit) {
  std::vector<int64_t> all = drain(*make(), limit);
  for (size_t read : {size_t{0}, size_t{1}, size_t{3}, size_t{10}}) {
    for (size_t skip = 0; read + skip <= all.size() + 3; ++skip) {
      ExampleStream stream = make();
      read = std::min(read, all.size());
      ASSERT_EQ(drain(*stream, read).size(), read);
      uint64_t skipped = stream->skip(skip);
      if (all.size() < limit) {
        ASSERT_EQ(skipped, std::min(skip, all.size() - read)) << read << " " << skip;
      } else {
        ASSERT_EQ(skipped, skip);
        if (read + skip >= all.size()) break;
      }
      size_t from = std::min(all.size(), read + skip);
      ASSERT_EQ(drain(*stream, all.size() - from),
                std::vector<int64_t>(all.begin() + static_cast<int64_t>(from), all.end()))
          << "after reading " << read << " and skipping " << skip;
    }
  }
}

TEST(Streams, VectorGivesItsExamplesInOrder) {
  EXPECT_EQ(drain(*from_vector(numbered(5))), iota(5));
  expect_skips([] { return from_vector(numbered(7)); }, 100);
}

TEST(Streams, ShuffleIsAPermutationThatDependsOnSeedAndPass) {
  auto order = [](uint64_t buffer, uint64_t seed, uint64_t pass) {
    return drain(*shuffle(from_vector(numbered(100)), buffer, seed, pass));
  };
  for (uint64_t buffer : {2, 7, 99, 100, 101, 1000}) {
    std::vector<int64_t> first = order(buffer, 1, 0);
    EXPECT_THAT(first, testing::UnorderedElementsAreArray(iota(100)));
    EXPECT_EQ(first, order(buffer, 1, 0));
    EXPECT_NE(first, order(buffer, 1, 1));
    EXPECT_NE(first, order(buffer, 2, 0));
  }
  EXPECT_EQ(order(100, 1, 0), order(1000, 1, 0));  // the whole data either way
  EXPECT_EQ(order(1, 1, 0), iota(100));
  EXPECT_THROW(order(0, 1, 0), Error);
}

TEST(Streams, ShuffleMixesFarAndEvenly) {
  // Over many passes, each of 10 examples comes first about equally often.
  std::vector<int> first(10);
  for (uint64_t pass = 0; pass < 10000; ++pass) {
    ++first[static_cast<size_t>(number(*shuffle(from_vector(numbered(10)), 64, 5, pass)->next()))];
  }
  for (int count : first) EXPECT_NEAR(count, 1000, 130);
}

TEST(Streams, FilesHaveAnOrderOfTheirOwnInEachPass) {
  std::vector<int> first(5);
  for (uint64_t pass = 0; pass < 5000; ++pass) {
    std::vector<size_t> order = file_order(5, 1, pass);
    EXPECT_EQ(order, file_order(5, 1, pass));
    EXPECT_THAT(order, testing::UnorderedElementsAre(0, 1, 2, 3, 4));
    ++first[order[0]];
  }
  for (int count : first) EXPECT_NEAR(count, 1000, 130);
  EXPECT_NE(file_order(20, 1, 0), file_order(20, 2, 0));
  EXPECT_THAT(file_order(1, 1, 7), testing::ElementsAre(0));
  EXPECT_TRUE(file_order(0, 1, 0).empty());
}

TEST(Streams, ShuffleOrderIsTheSameForFilesAndForMemory) {
  for (int64_t count : {0, 1, 6, 7, 8, 50}) {
    for (uint64_t pass = 0; pass < 3; ++pass) {
      EXPECT_EQ(drain(*shuffle(std::make_unique<Forward>(count), 7, 3, pass)),
                drain(*shuffle(from_vector(numbered(count)), 7, 3, pass)));
    }
  }
}

TEST(Streams, ShuffleResumesAnywhere) {
  for (int64_t count : {5, 8, 9, 30}) {
    expect_skips([&] { return shuffle(std::make_unique<Forward>(count), 8, 11, 2); }, 100);
    expect_skips([&] { return shuffle(from_vector(numbered(count)), 8, 11, 2); }, 100);
  }
}

TEST(Streams, RepeatRunsOverPassesEachShuffledAnew) {
  auto make = [](uint64_t passes) {
    return repeat([](uint64_t pass) { return shuffle(std::make_unique<Forward>(6), 4, 9, pass); },
                  passes);
  };
  std::vector<int64_t> all = drain(*make(3));
  ASSERT_EQ(all.size(), 18u);
  std::vector<int64_t> first(all.begin(), all.begin() + 6),
      second(all.begin() + 6, all.begin() + 12);
  EXPECT_THAT(second, testing::UnorderedElementsAreArray(iota(6)));
  EXPECT_NE(first, second);
  expect_skips([&] { return make(3); }, 100);
  expect_skips([&] { return make(kForever); }, 40);
}

TEST(Streams, RepeatingNothingIsAnError) {
  auto stream = repeat([](uint64_t) { return from_vector({}); });
  EXPECT_THROW(stream->next(), Error);
  EXPECT_THROW(repeat([](uint64_t) { return from_vector({}); })->skip(1), Error);
}

TEST(Streams, SplitGivesEachExampleToOnePart) {
  std::vector<int64_t> all;
  for (uint64_t part = 0; part < 8; ++part) {
    std::vector<int64_t> mine = drain(*split(std::make_unique<Forward>(15), part, 8));
    EXPECT_LE(mine.size(), 2u);
    all.insert(all.end(), mine.begin(), mine.end());
  }
  EXPECT_THAT(all, testing::UnorderedElementsAreArray(iota(15)));
  for (uint64_t part = 0; part < 3; ++part) {
    expect_skips([&] { return split(std::make_unique<Forward>(10), part, 3); }, 100);
  }
}

TEST(Streams, PrefetchKeepsOrderAndCarriesExceptions) {
  for (size_t depth : {1, 2, 100}) {
    EXPECT_EQ(drain(*prefetch<Example>(std::make_unique<Forward>(50), depth)), iota(50));
  }
  expect_skips([] { return prefetch<Example>(std::make_unique<Forward>(10), 2); }, 100);
  auto failing = prefetch<Example>(transform(std::make_unique<Forward>(5),
                                             [](Example e) {
                                               if (number(e) == 3) throw error("record 3 is bad");
                                               return e;
                                             }),
                                   2);
  EXPECT_EQ(drain(*failing, 3), iota(3));
  EXPECT_THROW(failing->next(), Error);
  EXPECT_THROW(failing->next(), Error);  // and it stays so
}

// R18: a thread that reads ahead tokenizes with as many threads as were asked for or the quota allows,
// not with as many as OpenMP finds processors.
TEST(Streams, PrefetchHasItsMakersNumberOfThreads) {
  class Threads final : public Stream<Example> {
   public:
    std::optional<Example> next() override {
      return Example{{"n", std::vector<int64_t>{loop_threads()}}};
    }
    uint64_t skip(uint64_t) override { return 0; }
  };
  int before = loop_threads();
  for (int count : {1, 7}) {
    EXPECT_EQ(use_threads(count), count);
    std::unique_ptr<Stream<Example>> ahead = prefetch<Example>(std::make_unique<Threads>(), 1);
    EXPECT_EQ(ahead->next(), (Example{{"n", std::vector<int64_t>{count}}}));
  }
  use_threads(before);
}

TEST(Streams, PrefetchStopsWhenItIsDropped) {
  auto stream = prefetch(repeat([](uint64_t) { return std::make_unique<Forward>(3); }), 4);
  EXPECT_TRUE(stream->next());
  stream.reset();  // must not hang although the source never ends
}

}  // namespace
}  // namespace bertrain
