// Dropout, layer normalization, and both with the residual sum in one pass; forward and gradient.
#include "backend/cpu/dropout_inputs.h"
#include "backend/cpu/kernels/layer_norm.h"
#include "backend/cpu/lowering.h"
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

Call prepare_dropout(const Binding& b) {
  DropoutInputs inputs(b, 1);
  int64_t rows = rows_of(b.in(0)), columns = last_extent(b.in(0));
  return [=, type = b.in(0).dtype, in = b.inputs[0], out = b.outputs[0]](const Addresses& at) {
    dropout_rows(at.get<void>(in), at.get<void>(out), type, rows, columns, inputs.at(at));
  };
}

LayerNorm shape_of_norm(const Binding& b) {
  LayerNorm n;
  n.dtype = b.in(0).dtype;
  n.rows = rows_of(b.in(0)), n.width = last_extent(b.in(0));
  n.epsilon = b.node.real("epsilon");
  return n;
}

Call prepare_layer_norm(const Binding& b) {
  return [n = shape_of_norm(b), in = b.inputs, out = b.outputs](const Addresses& at) {
    LayerNorm one = n;
    one.x = at.get<void>(in[0]);
    one.gamma = at.get<float>(in[1]), one.beta = at.get<float>(in[2]);
    one.y = at.get<void>(out[0]);
    one.mean = at.get<float>(out[1]), one.rstd = at.get<float>(out[2]);
    layer_norm(one);
  };
}

Call prepare_add_and_norm(const Binding& b) {
  DropoutInputs inputs(b, 4);
  return [n = shape_of_norm(b), inputs, in = b.inputs, out = b.outputs](const Addresses& at) {
    LayerNorm one = n;
    RowDropout dropout = inputs.at(at);
    one.x = at.get<void>(in[0]), one.f = at.get<void>(in[1]);
    one.gamma = at.get<float>(in[2]), one.beta = at.get<float>(in[3]);
    if (inputs.on()) one.dropout = &dropout;
    one.y = at.get<void>(out[0]), one.z = at.get<void>(out[1]);
    one.mean = at.get<float>(out[2]), one.rstd = at.get<float>(out[3]);
    layer_norm(one);
  };
}

LayerNormGrad shape_of_grad(const Binding& b) {
  LayerNormGrad n;
  n.dtype = b.in(0).dtype;
  n.rows = rows_of(b.in(0)), n.width = last_extent(b.in(0));
  return n;
}

Call prepare_layer_norm_grad(const Binding& b) {
  return [n = shape_of_grad(b), in = b.inputs, out = b.outputs](const Addresses& at) {
    LayerNormGrad one = n;
    one.z = at.get<void>(in[0]);
    one.gamma = at.get<float>(in[1]), one.mean = at.get<float>(in[2]),
    one.rstd = at.get<float>(in[3]);
    one.dy = at.get<void>(in[4]);
    one.dx = at.get<void>(out[0]);
    one.dgamma = at.get<float>(out[1]), one.dbeta = at.get<float>(out[2]);
    layer_norm_grad(one);
  };
}

Call prepare_add_and_norm_grad(const Binding& b) {
  DropoutInputs inputs(b, 5);
  return [n = shape_of_grad(b), inputs, in = b.inputs, out = b.outputs](const Addresses& at) {
    LayerNormGrad one = n;
    RowDropout dropout = inputs.at(at);
    one.z = at.get<void>(in[0]);
    one.gamma = at.get<float>(in[1]), one.mean = at.get<float>(in[2]),
    one.rstd = at.get<float>(in[3]);
    one.dy = at.get<void>(in[4]);
    if (inputs.on()) one.dropout = &dropout;
    one.dx = at.get<void>(out[0]), one.df = at.get<void>(out[1]);
    one.dgamma = at.get<float>(out[2]), one.dbeta = at.get<float>(out[3]);
    layer_norm_grad(one);
  };
}

// Scale and shift in f32 over rows of f32 or bf16; statistics are f32 by the op's rule.
template <size_t kFirst, size_t kLast>
bool takes_norm(const Node& node) {
  DType type = node.inputs[0].dtype();
  if (type != DType::f32 && type != DType::bf16) return false;
  if (node.inputs[0].extent(-1) == 0) return false;
  for (size_t i = kFirst; i <= kLast; ++i) {
    if (node.inputs[i].dtype() != DType::f32) return false;
  }
  return true;
}

bool takes_dropout(const Node& node) {
  DType type = node.inputs[0].dtype();
  return node.inputs.size() == 4 && node.inputs[1] && (type == DType::f32 || type == DType::bf16);
}

const Lowering kLowerings[] = {
    {&kDropout, takes_dropout, prepare_dropout, {{0, 0}}},
    {&kLayerNorm, takes_norm<1, 2>, prepare_layer_norm, {{0, 0}}},
    {&kLayerNormGrad, takes_norm<1, 3>, prepare_layer_norm_grad, {{0, 4}}},
    {&kAddAndNorm, takes_norm<2, 3>, prepare_add_and_norm, {{1, 1}, {0, 0}}},
    {&kAddAndNormGrad, takes_norm<1, 3>, prepare_add_and_norm_grad, {{0, 4}}},
};

}  // namespace

std::span<const Lowering> norm_lowerings() { return kLowerings; }

}  // namespace bertrain
