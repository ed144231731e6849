// The AdamW update of the original BERT code (optimization.py): decay beside the gradient, no bias
// correction unless the host put it into rate and epsilon.
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

std::vector<ArrayType> adamw_infer(const Node& n) {
  demand_inputs(n, 8);
  demand_dtype(n, 0, DType::f32, "the parameter");
  for (size_t i : {1, 2, 3}) demand_same(n, 0, i);
  for (size_t i : {4, 5, 6, 7}) {
    demand_dtype(n, i, DType::f32, "a setting");
    demand_shape(n, i, {}, "a setting");
  }
  n.real("beta1");
  n.real("beta2");
  return {3, n.inputs[0].type()};
}

Tensors adamw_expand(const Node& n) {
  Tensor w = n.inputs[0], m = n.inputs[2], v = n.inputs[3], scale = n.inputs[7];
  const Shape& shape = w.shape();
  auto wide = [&](Tensor setting) { return broadcast(setting, shape, {}); };
  double beta1 = n.real("beta1"), beta2 = n.real("beta2");
  Tensor g = n.inputs[1] * wide(scale);
  Tensor new_m = m * beta1 + g * (1 - beta1);
  Tensor new_v = v * beta2 + g * g * (1 - beta2);
  Tensor step = wide(n.inputs[4]) * new_m / (sqrt(new_v) + wide(n.inputs[6]));
  Tensor new_w = w - wide(n.inputs[5]) * w - step;
  // A NaN scale equals nothing, not even itself: the bad step leaves all as it was.
  Tensor finite = wide(compare(scale, scale, Compare::equal));
  return {select(finite, new_w, w), select(finite, new_m, m), select(finite, new_v, v)};
}

}  // namespace

extern const Op kAdamW{"adamw", adamw_infer, adamw_expand, nullptr};

Updated adamw(Tensor param, Tensor grad, Tensor m, Tensor v, Tensor rate, Tensor decay,
              Tensor epsilon, Tensor scale, double beta1, double beta2) {
  Tensors y = param.graph().apply(kAdamW, {param, grad, m, v, rate, decay, epsilon, scale},
                                  {{"beta1", beta1}, {"beta2", beta2}});
  return {y[0], y[1], y[2]};
}

}  // namespace bertrain
