// Threefry-2x32-20 [Salmon et al. 2011] in integer primitives, equal to base/rng.h to the bit.
#include <array>

#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

std::vector<ArrayType> random_bits_infer(const Node& n) {
  demand_inputs(n, 3);
  demand_dtype(n, 0, DType::u32, "the key");
  demand_shape(n, 0, {2}, "the key");
  demand_dtype(n, 1, DType::u32, "the counter");
  demand_same(n, 1, 2);
  return {n.inputs[1].type(), n.inputs[1].type()};
}

Tensors random_bits_expand(const Node& n) {
  constexpr uint32_t kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  Tensor key = n.inputs[0], x0 = n.inputs[1], x1 = n.inputs[2];
  Graph& g = key.graph();
  const Shape& shape = x0.shape();
  auto constant = [&](uint32_t value) { return full(g, shape, value, DType::u32); };
  auto word = [&](int64_t i) { return reshape(slice(key, {i}, {i + 1}), {}); };

  Tensor k0 = word(0), k1 = word(1);
  Tensor k2 = bit_xor(full(g, {}, 0x1BD11BDAu, DType::u32), bit_xor(k0, k1));
  std::array<Tensor, 3> k = {broadcast(k0, shape, {}), broadcast(k1, shape, {}),
                             broadcast(k2, shape, {})};
  std::array<Tensor, 8> left, right;
  for (size_t i = 0; i < 8; ++i) {
    left[i] = constant(kRotations[i]);
    right[i] = constant(32 - kRotations[i]);
  }
  x0 = x0 + k[0];
  x1 = x1 + k[1];
  for (uint32_t round = 0; round < 20; ++round) {
    x0 = x0 + x1;
    x1 = bit_or(shift_left(x1, left[round % 8]), shift_right(x1, right[round % 8]));
    x1 = bit_xor(x1, x0);
    if (round % 4 == 3) {
      uint32_t s = round / 4 + 1;
      x0 = x0 + k[s % 3];
      x1 = x1 + k[(s + 1) % 3] + constant(s);
    }
  }
  return {x0, x1};
}

}  // namespace

extern const Op kRandomBits{"random_bits", random_bits_infer, random_bits_expand, nullptr};

Bits random_bits(Tensor key, Tensor c0, Tensor c1) {
  Tensors y = key.graph().apply(kRandomBits, {key, c0, c1});
  return {y[0], y[1]};
}

}  // namespace bertrain
