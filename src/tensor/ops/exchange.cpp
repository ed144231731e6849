// Primitives about when and where rather than what: the sum over processes, the barrier.
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

std::vector<ArrayType> barrier_infer(const Node& n) {
  demand_inputs(n, n.inputs.size());
  std::vector<ArrayType> types;
  for (const Tensor& t : n.inputs) types.push_back(t.type());
  return types;
}

Tensors barrier_grad(const Node&, const Tensors&, const Tensors& dy) { return dy; }

}  // namespace

// Recorded after the gradients, so it needs none itself.
extern const Op kAllReduceSum{"all_reduce_sum", same_as_float_input, nullptr, nullptr};
extern const Op kBarrier{"barrier", barrier_infer, nullptr, barrier_grad, true};

Tensor all_reduce_sum(Tensor x) { return x.graph().apply(kAllReduceSum, {x})[0]; }
Tensors barrier(Tensors xs) {
  if (xs.empty()) return xs;
  Graph& graph = xs[0].graph();
  return graph.apply(kBarrier, std::move(xs));
}

}  // namespace bertrain
