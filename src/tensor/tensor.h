// One value of a program being recorded: a cheap handle to an output of a node, with the operators
// of arithmetic.
#pragma once

#include <vector>

#include "base/array.h"

namespace bertrain {

class Graph;
struct Node;

class Tensor {
 public:
  Tensor() = default;  // no value: an absent optional input, or a gradient that is zero
  Tensor(Node* node, int output) : node_(node), output_(output) {}

  explicit operator bool() const { return node_ != nullptr; }
  const ArrayType& type() const;
  const Shape& shape() const;
  DType dtype() const;
  int64_t extent(int axis) const;  // axis −1 is the last
  int rank() const;
  Graph& graph() const;
  Node* node() const { return node_; }
  int output() const { return output_; }
  bool operator==(const Tensor&) const = default;

 private:
  Node* node_ = nullptr;
  int output_ = 0;
};
using Tensors = std::vector<Tensor>;

}  // namespace bertrain
