// The square of the norm of several tensors taken as one vector.
#include <numeric>

#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

std::vector<ArrayType> sum_of_squares_infer(const Node& n) {
  check(!n.inputs.empty(), "a norm of no tensors");
  demand_inputs(n, n.inputs.size());
  for (size_t i = 0; i < n.inputs.size(); ++i) demand_float(n, i, "each input");
  return {{DType::f32, {}}};
}

Tensors sum_of_squares_expand(const Node& n) {
  Tensor sum;
  for (Tensor t : n.inputs) {
    Tensor x = convert(t, DType::f32);
    std::vector<int64_t> all(x.shape().size());
    std::iota(all.begin(), all.end(), 0);
    Tensor squares = reduce_sum(x * x, all);
    sum = sum ? sum + squares : squares;
  }
  return {sum};
}

Tensors sum_of_squares_grad(const Node& n, const Tensors&, const Tensors& dy) {
  Tensors dx;
  for (Tensor x : n.inputs) {
    Tensor twice = broadcast(dy[0] * 2, x.shape(), {});
    dx.push_back(convert(twice * convert(x, DType::f32), x.dtype()));
  }
  return dx;
}

}  // namespace

extern const Op kSumOfSquares{"sum_of_squares", sum_of_squares_infer, sum_of_squares_expand,
                              sum_of_squares_grad};

Tensor sum_of_squares(Tensors xs) {
  check(!xs.empty() && xs[0], "a norm of no tensors");
  Graph& graph = xs[0].graph();
  return graph.apply(kSumOfSquares, std::move(xs))[0];
}

}  // namespace bertrain
