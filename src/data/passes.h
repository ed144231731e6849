// One pass over the data after the other as a single stream, of examples or of whole batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "data/streams.h"

namespace bertrain {

// Values of pass 0, then of pass 1, …; a pass is made when it is reached. All have the same length,
// which is known once one has ended: from then on a skip passes over whole ones without making them.
// A pass without a value is an Error.
template <class T>
class Passes final : public Stream<T> {
 public:
  using Make = std::function<std::unique_ptr<Stream<T>>(uint64_t pass)>;
  explicit Passes(Make make, uint64_t passes = kForever)
      : make_(std::move(make)), passes_(passes) {}

  std::optional<T> next() override {
    while (pass_ < passes_) {
      if (!current_) current_ = make_(pass_);
      if (auto value = current_->next()) {
        ++taken_;
        return value;
      }
      end_pass();
    }
    return std::nullopt;
  }

  uint64_t skip(uint64_t count) override {
    uint64_t left = count;
    while (left > 0 && pass_ < passes_) {
      if (!current_ && length_ > 0 && left >= length_) {
        uint64_t whole = std::min(left / length_, passes_ - pass_);
        pass_ += whole;
        left -= whole * length_;
        continue;
      }
      if (!current_) current_ = make_(pass_);
      uint64_t skipped = current_->skip(left);
      taken_ += skipped;
      left -= skipped;
      if (left > 0) end_pass();
    }
    return count - left;
  }

 private:
  void end_pass() {
    if (taken_ == 0) throw error("there is nothing to train on: the data hold no example");
    length_ = taken_;
    taken_ = 0;
    current_.reset();
    ++pass_;
  }

  Make make_;
  uint64_t passes_, pass_ = 0;
  uint64_t taken_ = 0;   // of the current pass
  uint64_t length_ = 0;  // of a pass; 0 until one has ended
  std::unique_ptr<Stream<T>> current_;
};

}  // namespace bertrain
