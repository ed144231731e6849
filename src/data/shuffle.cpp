// A permutation per block, drawn by counters: nothing depends on what was drawn before.
#include "data/shuffle.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/rng.h"

namespace bertrain {
namespace {

// A key for part `index` of what `key` is for.
Block part_of(Block key, uint64_t index) {
  return threefry(key, {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32)});
}

template <class Index>
std::vector<Index> permutation_of(Block key, uint64_t length) {
  std::vector<Index> order(length);
  std::iota(order.begin(), order.end(), Index{0});
  for (uint64_t i = length; i-- > 1;) std::swap(order[i], order[below(key, i, i + 1)]);
  return order;
}

// Where blocks begin and how each is permuted.
class Order {
 public:
  Order(uint64_t buffer, uint64_t seed, uint64_t pass)
      : buffer_(buffer), key_(part_of(key_of(seed, "data/shuffle", 0), pass)) {}

  uint64_t first_length() const { return 1 + below(part_of(key_, 0), 0, buffer_); }

  std::vector<uint64_t> permutation(uint64_t block, uint64_t length) const {
    return permutation_of<uint64_t>(part_of(key_, block + 1), length);
  }

 private:
  uint64_t buffer_;
  Block key_;
};

// Blocks of examples held in memory.
class ShuffledStream final : public Stream<Example> {
 public:
  ShuffledStream(ExampleStream from, uint64_t buffer, Order order)
      : from_(std::move(from)), buffer_(buffer), order_(order) {}

  std::optional<Example> next() override {
    start();
    if (position_ == permutation_.size() && !load_block()) return std::nullopt;
    return std::move(block_[permutation_[position_++]]);
  }

  uint64_t skip(uint64_t count) override {
    start();
    uint64_t left = count;
    while (left > 0) {
      uint64_t here = std::min<uint64_t>(left, permutation_.size() - position_);
      position_ += here;
      left -= here;
      if (left == 0) break;
      if (left >= length_) {
        uint64_t blocks = block_number_ == 0 ? 1 : left / length_;
        uint64_t skipped = skip_source(blocks * length_);
        left -= skipped;
        if (skipped < blocks * length_) break;
        block_number_ += blocks;
        length_ = buffer_;
      } else if (!load_block()) {
        break;
      }
    }
    return count - left;
  }

 private:
  // Whether the stream is longer than the buffer decides the first block's length.
  void start() {
    if (started_) return;
    started_ = true;
    while (ahead_.size() <= buffer_) {
      auto example = from_->next();
      if (!example) break;
      ahead_.push_back(std::move(*example));
    }
    length_ = ahead_.size() > buffer_ ? order_.first_length() : buffer_;
  }

  std::optional<Example> take_source() {
    if (ahead_.empty()) return from_->next();
    Example example = std::move(ahead_.front());
    ahead_.pop_front();
    return example;
  }

  uint64_t skip_source(uint64_t count) {
    uint64_t here = std::min<uint64_t>(count, ahead_.size());
    ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<int64_t>(here));
    return here + (count > here ? from_->skip(count - here) : 0);
  }

  bool load_block() {
    block_.clear();
    position_ = 0;
    while (block_.size() < length_) {
      auto example = take_source();
      if (!example) break;
      block_.push_back(std::move(*example));
    }
    permutation_ = order_.permutation(block_number_++, block_.size());
    length_ = buffer_;
    return !block_.empty();
  }

  ExampleStream from_;
  uint64_t buffer_;
  Order order_;
  bool started_ = false;
  std::deque<Example> ahead_;  // read to learn the length, not yet in a block
  uint64_t length_ = 0;        // of the next block
  uint64_t block_number_ = 0;  // of the next block
  std::vector<Example> block_;
  std::vector<uint64_t> permutation_;
  uint64_t position_ = 0;  // in permutation_
};

// The same order over a source that gives any example at any time: eight bytes an example.
class ShuffledIndices final : public Stream<Example> {
 public:
  ShuffledIndices(std::unique_ptr<IndexedStream> from, uint64_t buffer, Order order)
      : from_(std::move(from)), buffer_(buffer), order_(order) {
    first_ = from_->size() > buffer_ ? order_.first_length() : buffer_;
  }

  std::optional<Example> next() override {
    if (position_ >= from_->size()) return std::nullopt;
    uint64_t block = position_ < first_ ? 0 : 1 + (position_ - first_) / buffer_;
    uint64_t begin = block == 0 ? 0 : first_ + (block - 1) * buffer_;
    if (permutation_.empty() || block != block_) {
      uint64_t end = std::min(block == 0 ? first_ : begin + buffer_, from_->size());
      permutation_ = order_.permutation(block, end - begin);
      block_ = block;
    }
    uint64_t index = begin + permutation_[position_ - begin];
    ++position_;
    return from_->at(index);
  }

  uint64_t skip(uint64_t count) override {
    uint64_t skipped = std::min(count, from_->size() - position_);
    position_ += skipped;
    return skipped;
  }

 private:
  std::unique_ptr<IndexedStream> from_;
  uint64_t buffer_;
  Order order_;
  uint64_t first_ = 0;  // length of block 0
  uint64_t position_ = 0, block_ = 0;
  std::vector<uint64_t> permutation_;
};

}  // namespace

ExampleStream shuffle(ExampleStream from, uint64_t buffer, uint64_t seed, uint64_t pass) {
  if (buffer == 0) throw usage_error("a shuffle buffer holds at least 1 example, not 0");
  if (buffer == 1) return from;
  Order order(buffer, seed, pass);
  if (auto* indexed = dynamic_cast<IndexedStream*>(from.get())) {
    from.release();
    return std::make_unique<ShuffledIndices>(std::unique_ptr<IndexedStream>(indexed), buffer,
                                             order);
  }
  return std::make_unique<ShuffledStream>(std::move(from), buffer, order);
}

std::vector<size_t> file_order(size_t count, uint64_t seed, uint64_t pass) {
  return permutation_of<size_t>(part_of(key_of(seed, "data/files", 0), pass), count);
}

}  // namespace bertrain
