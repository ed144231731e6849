// A stream whose source gives several examples at a time, such as a chunk of a file that is tokenized on
// all cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "data/streams.h"

namespace bertrain {

class ChunkedStream : public Stream<Example> {
 public:
  std::optional<Example> next() final {
    if (ready_.empty() && !fill(ready_)) return std::nullopt;
    Example example = std::move(ready_.front());
    ready_.pop_front();
    return example;
  }

 protected:
  // Puts further examples, one at least, into `ready`, which is empty; false where there are none.
  virtual bool fill(std::deque<Example>& ready) = 0;

  // Drops up to `count` of those that were given and not asked for; returns how many.
  uint64_t drop_ready(uint64_t count) {
    uint64_t dropped = std::min<uint64_t>(count, ready_.size());
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<int64_t>(dropped));
    return dropped;
  }

 private:
  std::deque<Example> ready_;
};

}  // namespace bertrain
