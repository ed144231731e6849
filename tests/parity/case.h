// One use of an op with values: what parity and finite differences walk.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor/graph.h"
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"

namespace bertrain {

using Record = std::function<Tensors(Graph&, const Tensors&)>;

struct Case {
  const Op* op = nullptr;
  std::vector<Array> inputs;
  Record record;                // the outputs, for a graph's inputs of those types
  std::vector<size_t> wrt;      // inputs whose gradients are checked; none: not differentiated
  std::vector<size_t> through;  // outputs that they are gradients of
  std::string label() const;    // "gelu(f32 [7], …)"
};
using Cases = std::vector<Case>;

// Rows of packed examples with empty slots behind them: one slot, primes, more than a tile of 64.
struct AttentionLayout {
  int64_t rows, slots, heads, head;
  std::vector<int64_t> lengths;  // of the examples of each row
};
const std::vector<AttentionLayout>& attention_layouts();

Cases primitive_cases();
Cases composite_cases();
Cases gradient_cases();  // of the *_grad composites and the optimizer
Cases all_cases();

// Values that depend on nothing but the order of calls.
class Values {
 public:
  explicit Values(uint32_t seed) : seed_(seed) {}
  Array normal(DType dtype, Shape shape);  // within two deviations
  Array uniform(DType dtype, Shape shape, double low, double high);
  // All different, and at least 1/4 from each other and from 0: for ops with kinks.
  Array spaced(DType dtype, Shape shape);
  Array ids(Shape shape, int64_t bound);  // i32, 0 … bound − 1
  Array bits(Shape shape);                // u32
  Array flags(Shape shape);               // boolean

 private:
  double next();  // [0, 1)
  uint32_t seed_, count_ = 0;
};

// Packed slots as the packer makes them: examples of these lengths in each row, empty slots after.
struct Slots {
  Array example, is_key, number, position;  // [R, S]
};
Slots packed_slots(int64_t rows, int64_t slots, const std::vector<int64_t>& lengths);

}  // namespace bertrain
