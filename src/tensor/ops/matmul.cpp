// Matrix product over the last two axes, each operand as it lies or transposed.
#include "tensor/ops/op_table.h"

#include <algorithm>

#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

std::vector<ArrayType> matmul_infer(const Node& n) {
  demand_inputs(n, 2);
  demand_float(n, 0, "a");
  demand_dtype(n, 1, n.inputs[0].dtype(), "b");
  demand_rank(n, 0, 2, "a");
  const Shape &a = n.inputs[0].shape(), &b = n.inputs[1].shape();
  size_t r = a.size();
  if (b.size() != r || !std::equal(a.begin(), a.end() - 2, b.begin())) {
    throw error("a and b must have equal leading axes");
  }
  bool ta = n.integer("transpose_a") != 0, tb = n.integer("transpose_b") != 0;
  int64_t inner_a = a[ta ? r - 2 : r - 1], inner_b = b[tb ? r - 1 : r - 2];
  if (inner_a != inner_b) throw error("{} columns of a against {} rows of b", inner_a, inner_b);
  auto dtype = static_cast<DType>(n.integer("dtype"));
  if (dtype != DType::f32 && dtype != n.inputs[0].dtype()) {
    throw error("the result is f32 or like a, not {}", name_of(dtype));
  }
  Shape y = a;
  y[r - 2] = a[ta ? r - 1 : r - 2];
  y[r - 1] = b[tb ? r - 2 : r - 1];
  return {{dtype, y}};
}

// With A' = A or Aᵀ as flagged, Y = A' B':  dA' = dY B'ᵀ,  dB' = A'ᵀ dY. Both are f32 also for bf16,
// as one of them is likely a weight's.
Tensors matmul_grad(const Node& n, const Tensors&, const Tensors& dy) {
  Tensor a = n.inputs[0], b = n.inputs[1], d = convert(dy[0], a.dtype());
  bool ta = n.integer("transpose_a") != 0, tb = n.integer("transpose_b") != 0;
  Tensor da = ta ? matmul(b, d, {tb, true}) : matmul(d, b, {false, !tb});
  Tensor db = tb ? matmul(d, a, {true, ta}) : matmul(a, d, {!ta, false});
  return {da, db};
}

}  // namespace

extern const Op kMatmul{"matmul", matmul_infer, nullptr, matmul_grad};

Tensor matmul(Tensor a, Tensor b, MatmulOptions options) {
  return a.graph().apply(kMatmul, {a, b},
                         {{"transpose_a", int64_t{options.transpose_a}},
                          {"transpose_b", int64_t{options.transpose_b}},
                          {"dtype", static_cast<int64_t>(options.dtype)}})[0];
}

double operations_of(const Node& node) {
  double elements_out = static_cast<double>(elements(node.outputs[0].shape));
  if (node.op != &kMatmul) return elements_out;
  bool transposed = node.integer("transpose_a") != 0;
  return 2 * elements_out * static_cast<double>(node.inputs[0].extent(transposed ? -2 : -1));
}

}  // namespace bertrain
