// The dropout of a node as the kernels take it, read from its inputs at run time.
#pragma once

#include "backend/cpu/kernels/dropout.h"
#include "backend/cpu/lowering.h"

namespace bertrain {

// The dropout inputs of a node from `first` on (key, number, position), read at run time.
class DropoutInputs {
 public:
  DropoutInputs(const Binding& b, size_t first)
      : on_(b.has(first) && b.node.real("rate") > 0), rate_(on_ ? b.node.real("rate") : 0) {
    if (!on_) return;
    key_ = b.inputs[first], number_ = b.inputs[first + 1], position_ = b.inputs[first + 2];
  }
  bool on() const { return on_; }
  RowDropout at(const Addresses& at) const {
    if (!on_) return {};
    const uint32_t* key = at.get<uint32_t>(key_);
    return {DropoutSource({key[0], key[1]}, rate_), at.get<uint32_t>(number_),
            at.get<int32_t>(position_)};
  }

 private:
  bool on_;
  double rate_;
  int key_ = -1, number_ = -1, position_ = -1;
};

}  // namespace bertrain
