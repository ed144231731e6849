// The norm of all gradients, and the update of a parameter in its own memory.
#include "backend/cpu/kernels/adamw.h"
#include "backend/cpu/kernels/sums.h"
#include "backend/cpu/lowering.h"
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

bool takes_squares(const Node& node) {
  for (Tensor t : node.inputs) {
    if (t.dtype() != DType::f32 && t.dtype() != DType::bf16) return false;
  }
  return true;
}

Call prepare_sum_of_squares(const Binding& b) {
  std::vector<ArrayType> types;
  for (size_t i = 0; i < b.inputs.size(); ++i) types.push_back(b.in(i));
  return [types, in = b.inputs, out = b.outputs[0]](const Addresses& at) {
    double sum = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      sum += sum_of_squares(at.get<void>(in[i]), types[i].dtype, elements(types[i].shape));
    }
    *at.get<float>(out) = static_cast<float>(sum);
  };
}

Call prepare_adamw(const Binding& b) {
  AdamWUpdate u;
  u.count = elements(b.in(0).shape);
  u.beta1 = b.node.real("beta1"), u.beta2 = b.node.real("beta2");
  return [u, in = b.inputs, out = b.outputs](const Addresses& at) {
    AdamWUpdate one = u;
    one.w = at.get<float>(in[0]), one.g = at.get<float>(in[1]);
    one.m = at.get<float>(in[2]), one.v = at.get<float>(in[3]);
    one.rate = *at.get<float>(in[4]), one.decay = *at.get<float>(in[5]);
    one.epsilon = *at.get<float>(in[6]), one.scale = *at.get<float>(in[7]);
    one.new_w = at.get<float>(out[0]), one.new_m = at.get<float>(out[1]),
    one.new_v = at.get<float>(out[2]);
    adamw(one);
  };
}

const Lowering kLowerings[] = {
    {&kSumOfSquares, takes_squares, prepare_sum_of_squares},
    {&kAdamW, all_f32, prepare_adamw, {{0, 0}, {1, 2}, {2, 3}}},
};

}  // namespace

std::span<const Lowering> update_lowerings() { return kLowerings; }

}  // namespace bertrain
