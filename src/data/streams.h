// Examples as a stream: read, shuffle, repeat, split, prefetch, composed by functions.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/example.h"

namespace bertrain {

template <class T>
class Stream {
 public:
  virtual ~Stream() = default;
  virtual std::optional<T> next() = 0;  // nullopt at the end
  // Resume: what follows is the same as if `count` values had been read. Returns how many there
  // were, fewer only at the end. Tables in memory seek; files of records are read past; what knows no
  // shorter way reads them.
  virtual uint64_t skip(uint64_t count) {
    uint64_t skipped = 0;
    while (skipped < count && next()) ++skipped;
    return skipped;
  }
};
using ExampleStream = std::unique_ptr<Stream<Example>>;

// What is left of a stream that is known to be short.
template <class T>
std::vector<T> rest_of(Stream<T>& stream) {
  std::vector<T> all;
  while (std::optional<T> value = stream.next()) all.push_back(std::move(*value));
  return all;
}

// A stream whose examples can be had in any order, so that a shuffle keeps numbers instead of them.
class IndexedStream : public Stream<Example> {
 public:
  virtual uint64_t size() const = 0;
  virtual Example at(uint64_t index) const = 0;  // index < size()
  std::optional<Example> next() final;
  uint64_t skip(uint64_t count) final;

 private:
  uint64_t position_ = 0;
};

// Examples that `at` makes by number. What they are made of is as large as it will be.
ExampleStream indexed(uint64_t size, std::function<Example(uint64_t index)> at);

ExampleStream from_vector(std::vector<Example> examples);

// The passes 0, 1, … one after the other; a pass is made when it is reached, so that each can be
// shuffled anew. All passes have the same length. Batches taken from it run over the ends of
// passes. A pass without any example is an Error, not an endless search for one.
inline constexpr uint64_t kForever = std::numeric_limits<uint64_t>::max();
ExampleStream repeat(std::function<ExampleStream(uint64_t pass)> make, uint64_t passes = kForever);

// Examples index, index + count, index + 2 count, …: each one goes to exactly one of `count` ranks.
ExampleStream split(ExampleStream from, uint64_t index, uint64_t count);

// Every example changed by a function that depends on nothing else, so that it can be skipped.
ExampleStream transform(ExampleStream from, std::function<Example(Example)> change);

}  // namespace bertrain
