// Batches from any step on are those of an unbroken run, joined or cut at the ends of passes.
#include "train/training_stream.h"

#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "train/signals.h"

namespace bertrain {
namespace {

// `count` examples, number i of length i % 3 + 1; nothing to learn.
class Numbers : public Task {
 public:
  explicit Numbers(int64_t count) : count_(count) {}
  std::vector<std::string> splits() const override { return {"train"}; }
  Schema schema() const override { return {}; }
  std::vector<LossTerm> terms() const override { return {}; }
  ExampleStream examples(std::string_view) const override {
    std::vector<Example> examples;
    for (int64_t i = 0; i < count_; ++i) {
      std::vector<int64_t> ids(static_cast<size_t>(i % 3 + 1), i);
      examples.push_back({{"input_ids", ids},
                          {"segment_ids", std::vector<int64_t>(ids.size(), 0)},
                          {"row", std::vector<int64_t>{i}}});
    }
    return from_vector(std::move(examples));
  }
  std::optional<uint64_t> count(std::string_view) const override { return count_; }
  int64_t max_seq_length() const override { return 3; }
  int64_t max_targets() const override { return 0; }
  Outputs build(const Scope&, const Inputs&) const override { return {}; }
  std::unique_ptr<Rows> rows() const override { return nullptr; }
  std::unique_ptr<Scorer> scorer() const override { return nullptr; }
  Json describe() const override { return {}; }

 private:
  int64_t count_;
};

TrainingStreamOptions options(bool cut) {
  TrainingStreamOptions o;
  o.batch_size = 4;
  o.seed = 7;
  o.cut_at_pass_ends = cut;
  o.pack.capacities = {{1, 12, 4, 0}};
  return o;
}

using Order = std::vector<std::vector<int64_t>>;

Order rows_of(const Task& task, const TrainingStreamOptions& o, uint64_t first, size_t count) {
  BatchStream stream = training_batches(task, o, first);
  Order order;
  for (size_t i = 0; i < count; ++i) {
    std::vector<int64_t> rows;
    std::optional<std::vector<Batch>> parts = stream->next();
    for (const Batch& batch : parts.value()) {
      rows.insert(rows.end(), batch.row.begin(), batch.row.end());
    }
    order.push_back(rows);
  }
  return order;
}

TEST(TrainingStream, ResumesAtAnyStep) {
  Numbers task(10);
  for (bool cut : {false, true}) {
    Order whole = rows_of(task, options(cut), 0, 12);
    for (size_t first = 0; first <= 9; ++first) {
      Order rest = rows_of(task, options(cut), first, 3);
      EXPECT_EQ(rest, Order(whole.begin() + static_cast<ptrdiff_t>(first),
                            whole.begin() + static_cast<ptrdiff_t>(first) + 3))
          << cut << first;
    }
  }
}

// Its files are read in reverse in every second pass of seed 7.
class Files : public Numbers {
 public:
  using Numbers::Numbers;
  ExampleStream shuffled_files(std::string_view split, uint64_t seed,
                               uint64_t pass) const override {
    if (seed != 7 || pass % 2 == 0) return examples(split);
    std::vector<Example> reversed;
    ExampleStream stream = examples(split);
    while (auto example = stream->next()) reversed.insert(reversed.begin(), std::move(*example));
    return from_vector(std::move(reversed));
  }
};

TEST(TrainingStream, FilesAreShuffledWhereExamplesAre) {
  Numbers listed(10);
  Files files(10);
  TrainingStreamOptions o = options(true);  // three batches a pass
  o.shuffle_buffer = 2;
  Order plain = rows_of(listed, o, 0, 9), shuffled = rows_of(files, o, 0, 9);
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(plain[i] == shuffled[i], i / 3 % 2 == 0) << i;
  }
  for (size_t first = 0; first < 6; ++first)
    EXPECT_EQ(rows_of(files, o, first, 1)[0], shuffled[first]);
  o.shuffle_buffer = 1;
  EXPECT_EQ(rows_of(files, o, 0, 6), rows_of(listed, o, 0, 6));
}

TEST(TrainingStream, CutPassesHaveEveryRowOnce) {
  Numbers task(10);
  Order order = rows_of(task, options(true), 0, 6);
  for (size_t pass = 0; pass < 2; ++pass) {
    std::set<int64_t> seen;
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(order[pass * 3 + i].size(), i < 2 ? 4u : 2u);
      seen.insert(order[pass * 3 + i].begin(), order[pass * 3 + i].end());
    }
    EXPECT_EQ(seen.size(), 10u);
  }
  EXPECT_NE(order[0], order[3]);  // each pass has its own order
}

TEST(TrainingStream, JoinedPassesRunOverTheEnd) {
  Numbers task(10);
  TrainingStreamOptions o = options(false);
  o.shuffle_buffer = 1;
  Order order = rows_of(task, o, 0, 5);
  EXPECT_EQ(order, (Order{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 0, 1}, {2, 3, 4, 5}, {6, 7, 8, 9}}));
}

TEST(TrainingStream, BatchLargerThanTheData) {
  Numbers task(3);
  EXPECT_EQ(rows_of(task, options(true), 0, 2)[1].size(), 3u);
  EXPECT_EQ(rows_of(task, options(false), 0, 2)[1].size(), 4u);
}

// As records are: each has to be read.
class Records : public Numbers {
 public:
  using Numbers::Numbers;
  ExampleStream examples(std::string_view split) const override {
    return transform(Numbers::examples(split), [](Example example) { return example; });
  }
};

TEST(TrainingStream, ReadingForwardEndsWithASignal) {
  Records task(10'000);
  StopSignals signals;
  EXPECT_NO_THROW(training_batches(task, options(false), 2000));
  std::raise(SIGTERM);
  EXPECT_THROW(training_batches(task, options(false), 2000), Stopped);
}

TEST(TrainingStream, ReadingForwardIsSaidWhereItTakesLong) {
  Records task(10'000);
  std::string said;
  LogSink sink([&](std::string_view line) { said += line; });
  TrainingStreamOptions o = options(false);
  o.silence = 1e6;  // seconds, which no machine is slow enough for
  training_batches(task, o, 2000);
  EXPECT_EQ(said, "");
  o.silence = 0;
  for (int64_t buffer : {1, 100, 100'000}) {  // skipped, by blocks, or read to be shuffled
    o.shuffle_buffer = buffer;
    said.clear();
    training_batches(task, o, 2000);
    EXPECT_EQ(said.substr(0, 33), "reading forward to record 8000, w") << buffer;
  }
}

TEST(TrainingStream, NoDataIsAnError) {
  Numbers task(0);
  for (bool cut : {false, true}) {
    EXPECT_THROW(training_batches(task, options(cut), 0)->next(), Error);
  }
}

}  // namespace
}  // namespace bertrain
