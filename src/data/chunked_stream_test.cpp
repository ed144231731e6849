// Examples that come several at a time, asked for one by one and passed over.
#include "data/chunked_stream.h"

#include <gtest/gtest.h>

namespace bertrain {
namespace {

// 0, 1, 2, … below `end`, three at a time.
class Threes final : public ChunkedStream {
 public:
  explicit Threes(int64_t end) : end_(end) {}
  int fills = 0;
  uint64_t drop(uint64_t count) { return drop_ready(count); }

 private:
  bool fill(std::deque<Example>& ready) override {
    ++fills;
    for (int i = 0; i < 3 && next_ < end_; ++i) {
      ready.push_back({{"number", std::vector<int64_t>{next_++}}});
    }
    return !ready.empty();
  }
  int64_t next_ = 0, end_;
};

TEST(ChunkedStream, GivesAllInOrderAndReadsNoFurtherThanAsked) {
  Threes stream(7);
  for (int64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(integers(*stream.next(), "number").at(0), i);
    EXPECT_EQ(stream.fills, i / 3 + 1);
  }
  EXPECT_FALSE(stream.next());
  EXPECT_FALSE(stream.next());
}

TEST(ChunkedStream, SkipsAsIfItHadRead) {
  Threes stream(7);
  EXPECT_EQ(stream.skip(4), 4u);
  EXPECT_EQ(integers(*stream.next(), "number").at(0), 4);
  EXPECT_EQ(stream.drop(5), 1u);
  EXPECT_EQ(integers(*stream.next(), "number").at(0), 6);
  EXPECT_EQ(stream.skip(2), 0u);
}

}  // namespace
}  // namespace bertrain
