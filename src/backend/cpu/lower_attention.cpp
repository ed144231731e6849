// Attention of whole examples, forward and gradient.
#include "backend/cpu/dropout_inputs.h"
#include "backend/cpu/kernels/attention.h"
#include "backend/cpu/lowering.h"
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

Attention shape_of_attention(const Binding& b) {
  Attention a;
  const Shape& q = b.in(0).shape;  // [R, S, H]
  a.dtype = b.in(0).dtype;
  a.rows = q[0], a.slots = q[1], a.width = q[2], a.heads = b.node.integer("heads");
  return a;
}

Call prepare_attention(const Binding& b) {
  DropoutInputs inputs(b, 5);
  return [a = shape_of_attention(b), inputs, in = b.inputs, out = b.outputs](const Addresses& at) {
    Attention one = a;
    RowDropout dropout = inputs.at(at);
    one.q = at.get<void>(in[0]), one.k = at.get<void>(in[1]), one.v = at.get<void>(in[2]);
    one.example = at.get<int32_t>(in[3]), one.is_key = at.get<int32_t>(in[4]);
    if (inputs.on()) one.dropout = &dropout;
    attention(one, at.get<void>(out[0]), at.get<float>(out[1]));
  };
}

Call prepare_attention_grad(const Binding& b) {
  DropoutInputs inputs(b, 8);
  return [a = shape_of_attention(b), inputs, in = b.inputs, out = b.outputs](const Addresses& at) {
    Attention one = a;
    RowDropout dropout = inputs.at(at);
    one.q = at.get<void>(in[0]), one.k = at.get<void>(in[1]), one.v = at.get<void>(in[2]);
    one.example = at.get<int32_t>(in[6]), one.is_key = at.get<int32_t>(in[7]);
    if (inputs.on()) one.dropout = &dropout;
    attention_grad(one, at.get<void>(in[3]), at.get<float>(in[4]), at.get<void>(in[5]),
                   at.get<void>(out[0]), at.get<void>(out[1]), at.get<void>(out[2]));
  };
}

bool takes_attention(const Node& node) {
  DType type = node.inputs[0].dtype();
  return type == DType::f32 || type == DType::bf16;
}

const Lowering kLowerings[] = {
    {&kAttention, takes_attention, prepare_attention},
    {&kAttentionGrad, takes_attention, prepare_attention_grad},
};

}  // namespace

std::span<const Lowering> attention_lowerings() { return kLowerings; }

}  // namespace bertrain
