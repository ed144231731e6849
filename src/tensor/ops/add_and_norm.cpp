// The end of each half of a layer: z = x + dropout(f), y = layer_norm(z).
#include "tensor/ops/dropout.h"
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

std::vector<ArrayType> add_and_norm_infer(const Node& n) {
  demand_inputs(n, 7, 4);
  demand_float(n, 0, "x");
  demand_rank(n, 0, 1, "x");
  demand_same(n, 0, 1);
  demand_norm_scale(n, 2, "gamma");
  demand_norm_scale(n, 3, "beta");
  n.real("epsilon");
  Shape rows = without_last(n.inputs[0].shape());
  demand_dropout(n, 4, rows);
  return {n.inputs[0].type(), n.inputs[0].type(), {DType::f32, rows}, {DType::f32, rows}};
}

Tensors add_and_norm_expand(const Node& n) {
  Tensor z = n.inputs[0] + dropout(n.inputs[1], dropout_of(n, 4));
  Normed normed = layer_norm(z, n.inputs[2], n.inputs[3], n.real("epsilon"));
  return {normed.y, z, normed.mean, normed.rstd};
}

Tensors add_and_norm_backward(const Node& n, const Tensors& y, const Tensors& dy) {
  check(!dy[2] && !dy[3], "nothing may be differentiated through a layer norm's statistics");
  Dropout d = dropout_of(n, 4);
  if (!dy[0]) return {dy[1], dropout(dy[1], d), {}, {}, {}, {}, {}};
  if (!dy[1]) {
    AddNormGrad g = add_and_norm_grad(y[1], n.inputs[2], y[2], y[3], dy[0], d);
    return {g.dx, g.df, g.dgamma, g.dbeta, {}, {}, {}};
  }
  // z was read elsewhere too: its gradients meet before the dropout.
  NormGrad g = layer_norm_grad(y[1], n.inputs[2], y[2], y[3], dy[0]);
  Tensor dz = g.dx + dy[1];
  return {dz, dropout(dz, d), g.dgamma, g.dbeta, {}, {}, {}};
}

std::vector<ArrayType> add_and_norm_grad_infer(const Node& n) {
  demand_inputs(n, 8, 5);
  demand_float(n, 0, "z");
  demand_rank(n, 0, 1, "z");
  demand_norm_scale(n, 1, "gamma");
  Shape rows = without_last(n.inputs[0].shape());
  for (size_t i : {2, 3}) {
    demand_dtype(n, i, DType::f32, "a statistic");
    demand_shape(n, i, rows, "a statistic");
  }
  demand_same(n, 0, 4);
  demand_dropout(n, 5, rows);
  ArrayType scale{DType::f32, {n.inputs[0].extent(-1)}};
  return {n.inputs[0].type(), n.inputs[0].type(), scale, scale};
}

Tensors add_and_norm_grad_expand(const Node& n) {
  NormGrad g = layer_norm_grad(n.inputs[0], n.inputs[1], n.inputs[2], n.inputs[3], n.inputs[4]);
  return {g.dx, dropout(g.dx, dropout_of(n, 5)), g.dgamma, g.dbeta};
}

double rate_of(const Dropout& dropout) { return dropout.on() ? dropout.rate : 0; }

}  // namespace

extern const Op kAddAndNorm{"add_and_norm", add_and_norm_infer, add_and_norm_expand,
                            add_and_norm_backward};
extern const Op kAddAndNormGrad{"add_and_norm_grad", add_and_norm_grad_infer,
                                add_and_norm_grad_expand, nullptr};

AddedNormed add_and_norm(Tensor x, Tensor f, Tensor gamma, Tensor beta, const Dropout& dropout,
                         double epsilon) {
  Tensors inputs = {x, f, gamma, beta};
  append_dropout(inputs, dropout);
  Tensors y = x.graph().apply(kAddAndNorm, std::move(inputs),
                              {{"rate", rate_of(dropout)}, {"epsilon", epsilon}});
  return {y[0], y[1], y[2], y[3]};
}

AddNormGrad add_and_norm_grad(Tensor z, Tensor gamma, Tensor mean, Tensor rstd, Tensor dy,
                              const Dropout& dropout) {
  Tensors inputs = {z, gamma, mean, rstd, dy};
  append_dropout(inputs, dropout);
  Tensors y = z.graph().apply(kAddAndNormGrad, std::move(inputs), {{"rate", rate_of(dropout)}});
  return {y[0], y[1], y[2], y[3]};
}

}  // namespace bertrain
