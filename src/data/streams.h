// Examples as a stream: read, shuffle, repeat, split, prefetch, composed by functions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/example.h"

namespace bertrain {

template <class T>
class Stream {
 public:
  virtual ~Stream() = default;
  virtual std::optional<T> next() = 0;    // nullopt at the end
  virtual void skip(uint64_t count) = 0;  // resume: the same order as if they had been read
};
using ExampleStream = std::unique_ptr<Stream<Example>>;

}  // namespace bertrain
