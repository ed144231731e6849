// Bitwise primitives on u32: what Threefry is made of.
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

std::vector<ArrayType> bits_infer(const Node& n) {
  demand_inputs(n, 2);
  demand_dtype(n, 0, DType::u32, "the input");
  demand_same(n, 0, 1);
  return {n.inputs[0].type()};
}

}  // namespace

extern const Op kBitAnd{"bit_and", bits_infer, nullptr, nullptr};
extern const Op kBitOr{"bit_or", bits_infer, nullptr, nullptr};
extern const Op kBitXor{"bit_xor", bits_infer, nullptr, nullptr};
extern const Op kShiftLeft{"shift_left", bits_infer, nullptr, nullptr};
extern const Op kShiftRight{"shift_right", bits_infer, nullptr, nullptr};

Tensor bit_and(Tensor a, Tensor b) { return a.graph().apply(kBitAnd, {a, b})[0]; }
Tensor bit_or(Tensor a, Tensor b) { return a.graph().apply(kBitOr, {a, b})[0]; }
Tensor bit_xor(Tensor a, Tensor b) { return a.graph().apply(kBitXor, {a, b})[0]; }
Tensor shift_left(Tensor a, Tensor b) { return a.graph().apply(kShiftLeft, {a, b})[0]; }
Tensor shift_right(Tensor a, Tensor b) { return a.graph().apply(kShiftRight, {a, b})[0]; }

}  // namespace bertrain
