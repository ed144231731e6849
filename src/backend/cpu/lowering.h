// How one node becomes a prepared call: the table of what the CPU runs with a kernel of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "tensor/graph.h"

namespace bertrain {

// Where a node's values lie in the table of addresses that a run fills in; −1: an absent input.
struct Binding {
  const Node& node;
  std::vector<int> inputs, outputs;

  const ArrayType& in(size_t i) const { return node.inputs[i].type(); }
  const ArrayType& out(size_t i) const { return node.outputs[i]; }
  bool has(size_t i) const { return i < inputs.size() && inputs[i] >= 0; }
};

// The values of one run, by number.
class Addresses {
 public:
  explicit Addresses(std::byte* const* at) : at_(at) {}
  template <class T>
  T* get(int value) const {
    return value < 0 ? nullptr : reinterpret_cast<T*>(at_[value]);
  }

 private:
  std::byte* const* at_;
};

using Call = std::function<void(const Addresses&)>;

struct Lowering {
  const Op* op;
  bool (*takes)(const Node&);  // whether the kernel covers this node (dtypes, axes); null: always
  Call (*prepare)(const Binding&);  // null: fuse() puts another node in its place
  std::vector<std::pair<int, int>> in_place =
      {};  // {output, input}: the output may take the input's memory
};

// Null if the CPU has no kernel for the node: a composite is expanded then, a primitive is evaluated by plain loops.
const Lowering* find_lowering(const Node& node);

// One list for each file of lowerings.
std::span<const Lowering> matmul_lowerings();
std::span<const Lowering> elementwise_lowerings();
std::span<const Lowering> move_lowerings();
std::span<const Lowering> norm_lowerings();
std::span<const Lowering> attention_lowerings();
std::span<const Lowering> loss_lowerings();
std::span<const Lowering> update_lowerings();

// A primitive by the reference backend's loops, for what is never hot.
Call prepare_cold(const Binding& binding);

// Useful floating-point operations of a node (products and sums of its matrix products; one an element otherwise).
double flops_of(const Node& node);

inline bool all_f32(const Node& node) {
  for (Tensor t : node.inputs) {
    if (t && t.dtype() != DType::f32) return false;
  }
  return node.outputs[0].dtype == DType::f32;
}
inline int64_t last_extent(const ArrayType& type) { return type.shape.back(); }
inline int64_t rows_of(const ArrayType& type) {  // of [..., C]
  return type.shape.back() == 0 ? 0 : elements(type.shape) / type.shape.back();
}

}  // namespace bertrain
