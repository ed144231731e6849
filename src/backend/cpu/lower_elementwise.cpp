// Element-wise ops by the vector kernels, f32 and bf16.
#include "backend/cpu/kernels/elementwise.h"
#include "backend/cpu/lowering.h"
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

bool is_float(DType type) { return type == DType::f32 || type == DType::bf16; }

bool takes_float(const Node& node) {
  for (Tensor t : node.inputs) {
    if (!is_float(t.dtype())) return false;
  }
  return is_float(node.outputs[0].dtype);
}

template <Unary kOp>
Call prepare_unary(const Binding& b) {
  int64_t count = elements(b.out(0).shape);
  return [count, from = b.in(0).dtype, to = b.out(0).dtype, in = b.inputs[0],
          out = b.outputs[0]](const Addresses& at) {
    map(kOp, {at.get<void>(in), from}, at.get<void>(out), to, count);
  };
}

template <Binary kOp>
Call prepare_binary(const Binding& b) {
  int64_t count = elements(b.out(0).shape);
  return [count, type = b.out(0).dtype, in = b.inputs, out = b.outputs[0]](const Addresses& at) {
    map(kOp, at.get<void>(in[0]), at.get<void>(in[1]), at.get<void>(out), type, count);
  };
}

const Lowering kLowerings[] = {
    {&kConvert, takes_float, prepare_unary<Unary::convert>},
    {&kNegate, takes_float, prepare_unary<Unary::negate>, {{0, 0}}},
    {&kExp, takes_float, prepare_unary<Unary::exp>, {{0, 0}}},
    {&kSqrt, takes_float, prepare_unary<Unary::sqrt>, {{0, 0}}},
    {&kRsqrt, takes_float, prepare_unary<Unary::rsqrt>, {{0, 0}}},
    {&kTanh, takes_float, prepare_unary<Unary::tanh>, {{0, 0}}},
    {&kErf, takes_float, prepare_unary<Unary::erf>, {{0, 0}}},
    {&kRelu, takes_float, prepare_unary<Unary::relu>, {{0, 0}}},
    {&kGelu, takes_float, prepare_unary<Unary::gelu>, {{0, 0}}},
    {&kGeluErf, takes_float, prepare_unary<Unary::gelu_erf>, {{0, 0}}},
    {&kAdd, takes_float, prepare_binary<Binary::add>, {{0, 0}, {0, 1}}},
    {&kSubtract, takes_float, prepare_binary<Binary::subtract>, {{0, 0}, {0, 1}}},
    {&kMultiply, takes_float, prepare_binary<Binary::multiply>, {{0, 0}, {0, 1}}},
    {&kDivide, takes_float, prepare_binary<Binary::divide>, {{0, 0}, {0, 1}}},
    {&kMaximum, takes_float, prepare_binary<Binary::maximum>, {{0, 0}, {0, 1}}},
    {&kGeluGrad, takes_float, prepare_binary<Binary::gelu_grad>, {{0, 0}, {0, 1}}},
    {&kGeluErfGrad, takes_float, prepare_binary<Binary::gelu_erf_grad>, {{0, 0}, {0, 1}}},
};

}  // namespace

std::span<const Lowering> elementwise_lowerings() { return kLowerings; }

}  // namespace bertrain
