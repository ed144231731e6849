// Layer normalization [Ba et al. 2016] over the last axis: y = (x − mean) rstd γ + β.
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

void demand_rows(const Node& n) {
  demand_float(n, 0, "x");
  demand_rank(n, 0, 1, "x");
  if (n.inputs[0].extent(-1) == 0) throw error("no norm of nothing");
}

std::vector<ArrayType> layer_norm_infer(const Node& n) {
  demand_inputs(n, 3);
  demand_rows(n);
  demand_norm_scale(n, 1, "gamma");
  demand_norm_scale(n, 2, "beta");
  n.real("epsilon");
  ArrayType row{DType::f32, without_last(n.inputs[0].shape())};
  return {n.inputs[0].type(), row, row};
}

Tensor row_mean(Tensor x) {
  return reduce_sum(x, {x.rank() - 1}) * (1.0 / static_cast<double>(x.extent(-1)));
}

Tensors layer_norm_expand(const Node& n) {
  Tensor x = convert(n.inputs[0], DType::f32);
  int64_t columns = x.extent(-1);
  Tensor mean = row_mean(x), centered = x - broadcast_last(mean, columns);
  Tensor rstd = rsqrt(row_mean(centered * centered) + n.real("epsilon"));
  Tensor gamma = broadcast(convert(n.inputs[1], DType::f32), x.shape());
  Tensor beta = broadcast(convert(n.inputs[2], DType::f32), x.shape());
  Tensor y = centered * broadcast_last(rstd, columns) * gamma + beta;
  return {convert(y, n.outputs[0].dtype), mean, rstd};
}

Tensors layer_norm_backward(const Node& n, const Tensors& y, const Tensors& dy) {
  check(!dy[1] && !dy[2], "nothing may be differentiated through a layer norm's statistics");
  NormGrad g = layer_norm_grad(n.inputs[0], n.inputs[1], y[1], y[2], dy[0]);
  return {g.dx, g.dgamma, g.dbeta};
}

std::vector<ArrayType> layer_norm_grad_infer(const Node& n) {
  demand_inputs(n, 5);
  demand_rows(n);
  demand_norm_scale(n, 1, "gamma");
  for (size_t i : {2, 3}) {
    demand_dtype(n, i, DType::f32, "a statistic");
    demand_shape(n, i, without_last(n.inputs[0].shape()), "a statistic");
  }
  demand_same(n, 0, 4);
  ArrayType scale{DType::f32, {n.inputs[0].extent(-1)}};
  return {n.inputs[0].type(), scale, scale};
}

// With x̂ = (x − mean) rstd and g = dy γ:  dx = rstd (g − mean(g) − x̂ mean(g x̂)),
// dγ = Σ dy x̂,  dβ = Σ dy.
Tensors layer_norm_grad_expand(const Node& n) {
  Tensor x = convert(n.inputs[0], DType::f32), dy = convert(n.inputs[4], DType::f32);
  int64_t columns = x.extent(-1);
  auto wide = [&](Tensor row) { return broadcast_last(row, columns); };
  Tensor rstd = wide(n.inputs[3]), normed = (x - wide(n.inputs[2])) * rstd;
  Tensor g = dy * broadcast(convert(n.inputs[1], DType::f32), x.shape());
  Tensor dx = rstd * (g - wide(row_mean(g)) - normed * wide(row_mean(g * normed)));
  std::vector<int64_t> rows;
  for (int64_t i = 0; i + 1 < x.rank(); ++i) rows.push_back(i);
  return {convert(dx, n.outputs[0].dtype), reduce_sum(dy * normed, rows), reduce_sum(dy, rows)};
}

}  // namespace

extern const Op kLayerNorm{"layer_norm", layer_norm_infer, layer_norm_expand, layer_norm_backward};
extern const Op kLayerNormGrad{"layer_norm_grad", layer_norm_grad_infer, layer_norm_grad_expand,
                               nullptr};

Normed layer_norm(Tensor x, Tensor gamma, Tensor beta, double epsilon) {
  Tensors y = x.graph().apply(kLayerNorm, {x, gamma, beta}, {{"epsilon", epsilon}});
  return {y[0], y[1], y[2]};
}

NormGrad layer_norm_grad(Tensor x, Tensor gamma, Tensor mean, Tensor rstd, Tensor dy) {
  Tensors y = x.graph().apply(kLayerNormGrad, {x, gamma, mean, rstd, dy});
  return {y[0], y[1], y[2]};
}

}  // namespace bertrain
