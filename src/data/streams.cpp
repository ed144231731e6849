// Streams made of other streams, and of examples in memory.
#include "data/streams.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/passes.h"

namespace bertrain {

std::optional<Example> IndexedStream::next() {
  if (position_ >= size()) return std::nullopt;
  return at(position_++);
}

uint64_t IndexedStream::skip(uint64_t count) {
  uint64_t skipped = std::min(count, size() - position_);
  position_ += skipped;
  return skipped;
}

namespace {

class Indexed final : public IndexedStream {
 public:
  Indexed(uint64_t size, std::function<Example(uint64_t)> at) : size_(size), at_(std::move(at)) {}
  uint64_t size() const override { return size_; }
  Example at(uint64_t index) const override { return at_(index); }

 private:
  uint64_t size_;
  std::function<Example(uint64_t)> at_;
};

class Split final : public Stream<Example> {
 public:
  Split(ExampleStream from, uint64_t index, uint64_t count)
      : from_(std::move(from)), count_(count), gap_(index) {}

  std::optional<Example> next() override {
    if (from_->skip(gap_) < gap_) return std::nullopt;
    gap_ = count_ - 1;
    return from_->next();
  }

  uint64_t skip(uint64_t count) override {
    if (count == 0) return 0;
    uint64_t whole = gap_ + (count - 1) * count_ + 1;  // up to and with the last one of ours
    uint64_t skipped = from_->skip(whole);
    uint64_t ours = skipped <= gap_ ? 0 : (skipped - gap_ - 1) / count_ + 1;
    gap_ = count_ - 1;
    return ours;
  }

 private:
  ExampleStream from_;
  uint64_t count_, gap_;  // gap: examples of others before our next one
};

class Transform final : public Stream<Example> {
 public:
  Transform(ExampleStream from, std::function<Example(Example)> change)
      : from_(std::move(from)), change_(std::move(change)) {}
  std::optional<Example> next() override {
    auto example = from_->next();
    if (!example) return std::nullopt;
    return change_(std::move(*example));
  }
  uint64_t skip(uint64_t count) override { return from_->skip(count); }

 private:
  ExampleStream from_;
  std::function<Example(Example)> change_;
};

}  // namespace

ExampleStream indexed(uint64_t size, std::function<Example(uint64_t index)> at) {
  return std::make_unique<Indexed>(size, std::move(at));
}

ExampleStream from_vector(std::vector<Example> examples) {
  uint64_t size = examples.size();
  return indexed(size, [all = std::move(examples)](uint64_t index) { return all.at(index); });
}

ExampleStream repeat(std::function<ExampleStream(uint64_t pass)> make, uint64_t passes) {
  return std::make_unique<Passes<Example>>(std::move(make), passes);
}

ExampleStream split(ExampleStream from, uint64_t index, uint64_t count) {
  check(count > 0 && index < count, "split: the index of a part is below the number of parts");
  if (count == 1) return from;
  return std::make_unique<Split>(std::move(from), index, count);
}

ExampleStream transform(ExampleStream from, std::function<Example(Example)> change) {
  return std::make_unique<Transform>(std::move(from), std::move(change));
}

}  // namespace bertrain
