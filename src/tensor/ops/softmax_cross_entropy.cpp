// Cross-entropy of a softmax against one label a row: loss = lse − logits[label].
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

void demand_rows(const Node& n) {
  demand_float(n, 0, "logits");
  const Shape& logits = n.inputs[0].shape();
  if (logits.size() != 2) throw error("logits must be [M, V], but are {}", to_string(logits));
  if (logits[1] == 0) throw error("no class to choose from");
  demand_dtype(n, 1, DType::i32, "labels");
  demand_shape(n, 1, {logits[0]}, "labels");
}

Tensor classes(Tensor logits) { return iota(logits.graph(), logits.shape(), 1, DType::i32); }

// Boolean [M, V]: the column of the row's label.
Tensor is_label(Tensor logits, Tensor label) {
  return compare(classes(logits), broadcast_last(label, logits.extent(1)), Compare::equal);
}

std::vector<ArrayType> cross_entropy_infer(const Node& n) {
  demand_inputs(n, 2);
  demand_rows(n);
  Shape rows = {n.inputs[0].extent(0)};
  return {{DType::f32, rows}, {DType::f32, rows}, {DType::i32, rows}};
}

Tensors cross_entropy_expand(const Node& n) {
  Tensor x = convert(n.inputs[0], DType::f32), label = n.inputs[1];
  Graph& g = x.graph();
  int64_t columns = x.extent(1);
  Tensor max = reduce_max(x, {1}), wide_max = broadcast_last(max, columns);
  Tensor lse = max + log(reduce_sum(exp(x - wide_max), {1}));
  Tensor chosen = reduce_sum(select(is_label(x, label), x, full(g, x.shape(), 0)), {1});
  // The first maximum is the least of its columns: the greatest of their negatives. Columns that
  // are no maximum count as the last, so that NaN logits too choose a class that there is.
  Tensor beyond = full(g, x.shape(), static_cast<double>(columns - 1), DType::i32);
  Tensor column = select(compare(x, wide_max, Compare::equal), classes(x), beyond);
  return {lse - chosen, lse, negate(reduce_max(negate(column), {1}))};
}

Tensors cross_entropy_backward(const Node& n, const Tensors& y, const Tensors& dy) {
  check(!dy[1], "nothing may be differentiated through the log-sum-exp of a cross-entropy");
  return {softmax_cross_entropy_grad(n.inputs[0], n.inputs[1], y[1], dy[0]), {}};
}

std::vector<ArrayType> cross_entropy_grad_infer(const Node& n) {
  demand_inputs(n, 4);
  demand_rows(n);
  for (size_t i : {2, 3}) {
    std::string_view what = i == 2 ? "lse" : "the gradient";
    demand_dtype(n, i, DType::f32, what);
    demand_shape(n, i, {n.inputs[0].extent(0)}, what);
  }
  return {n.inputs[0].type()};
}

// d loss / d logits = softmax − one at the label
Tensors cross_entropy_grad_expand(const Node& n) {
  Tensor x = convert(n.inputs[0], DType::f32);
  Graph& g = x.graph();
  int64_t columns = x.extent(1);
  Tensor p = exp(x - broadcast_last(n.inputs[2], columns));
  Tensor target = select(is_label(x, n.inputs[1]), full(g, x.shape(), 1), full(g, x.shape(), 0));
  return {convert((p - target) * broadcast_last(n.inputs[3], columns), n.outputs[0].dtype)};
}

}  // namespace

extern const Op kSoftmaxCrossEntropy{"softmax_cross_entropy", cross_entropy_infer,
                                     cross_entropy_expand, cross_entropy_backward};
extern const Op kSoftmaxCrossEntropyGrad{"softmax_cross_entropy_grad", cross_entropy_grad_infer,
                                         cross_entropy_grad_expand, nullptr};

CrossEntropy softmax_cross_entropy(Tensor logits, Tensor label) {
  Tensors y = logits.graph().apply(kSoftmaxCrossEntropy, {logits, label});
  return {y[0], y[1], y[2]};
}

Tensor softmax_cross_entropy_grad(Tensor logits, Tensor label, Tensor lse, Tensor dloss) {
  return logits.graph().apply(kSoftmaxCrossEntropyGrad, {logits, label, lse, dloss})[0];
}

}  // namespace bertrain
