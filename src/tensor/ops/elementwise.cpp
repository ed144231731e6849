// Element-wise primitives on equal shapes: arithmetic, functions, comparison, choice, conversion.
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

// Arithmetic is for floats and 32-bit integers; the rest is only stored, moved and converted.
void demand_number(const Node& n) {
  DType t = n.inputs[0].dtype();
  if (!is_float(t) && t != DType::i32 && t != DType::u32) {
    throw error("{} has no arithmetic; convert it first", name_of(t));
  }
}

std::vector<ArrayType> binary_infer(const Node& n) {
  demand_inputs(n, 2);
  demand_number(n);
  demand_same(n, 0, 1);
  return {n.inputs[0].type()};
}

std::vector<ArrayType> negate_infer(const Node& n) {
  demand_inputs(n, 1);
  demand_number(n);
  return {n.inputs[0].type()};
}

std::vector<ArrayType> convert_infer(const Node& n) {
  demand_inputs(n, 1);
  int64_t to = n.integer("dtype");
  check(to >= 0 && to <= static_cast<int64_t>(DType::boolean), "convert to an unknown dtype");
  return {{static_cast<DType>(to), n.inputs[0].shape()}};
}

std::vector<ArrayType> compare_infer(const Node& n) {
  binary_infer(n);
  int64_t d = n.integer("direction");
  check(d >= 0 && d <= static_cast<int64_t>(Compare::greater_equal), "unknown comparison");
  return {{DType::boolean, n.inputs[0].shape()}};
}

std::vector<ArrayType> select_infer(const Node& n) {
  demand_inputs(n, 3);
  demand_dtype(n, 0, DType::boolean, "the condition");
  demand_same(n, 1, 2);
  demand_shape(n, 0, n.inputs[1].shape(), "the condition");
  return {n.inputs[1].type()};
}

Tensor one(const Op& op, Tensors inputs, Attrs attrs = {}) {
  Graph& graph = inputs[0].graph();
  return graph.apply(op, std::move(inputs), std::move(attrs))[0];
}

Tensor zeros_like(Tensor x) { return full(x.graph(), x.shape(), 0, x.dtype()); }

// The gradient leaves as it is, f32 or not: a bf16 weight's goes to its f32 master unrounded.
Tensors convert_grad(const Node& n, const Tensors&, const Tensors& dy) {
  if (!is_float(n.inputs[0].dtype()) || !is_float(n.outputs[0].dtype)) return {{}};
  return {convert(dy[0], n.inputs[0].dtype())};
}

Tensors add_grad(const Node&, const Tensors&, const Tensors& dy) { return {dy[0], dy[0]}; }

Tensors subtract_grad(const Node&, const Tensors&, const Tensors& dy) {
  return {dy[0], negate(dy[0])};
}

Tensors multiply_grad(const Node& n, const Tensors&, const Tensors& dy) {
  return {dy[0] * n.inputs[1], dy[0] * n.inputs[0]};
}

Tensors divide_grad(const Node& n, const Tensors& y, const Tensors& dy) {
  Tensor da = dy[0] / n.inputs[1];
  return {da, negate(da * y[0])};
}

// Where both are equal the first takes it all.
Tensors maximum_grad(const Node& n, const Tensors&, const Tensors& dy) {
  Tensor first = compare(n.inputs[0], n.inputs[1], Compare::greater_equal);
  Tensor zero = zeros_like(dy[0]);
  return {select(first, dy[0], zero), select(first, zero, dy[0])};
}

Tensors negate_grad(const Node&, const Tensors&, const Tensors& dy) { return {negate(dy[0])}; }

Tensors exp_grad(const Node&, const Tensors& y, const Tensors& dy) { return {dy[0] * y[0]}; }

Tensors log_grad(const Node& n, const Tensors&, const Tensors& dy) { return {dy[0] / n.inputs[0]}; }

Tensors sqrt_grad(const Node&, const Tensors& y, const Tensors& dy) { return {dy[0] * 0.5 / y[0]}; }

Tensors rsqrt_grad(const Node&, const Tensors& y, const Tensors& dy) {
  return {dy[0] * -0.5 * (y[0] * y[0] * y[0])};
}

Tensors tanh_grad(const Node&, const Tensors& y, const Tensors& dy) {
  return {dy[0] * (1 - y[0] * y[0])};
}

Tensors select_grad(const Node& n, const Tensors&, const Tensors& dy) {
  Tensor zero = zeros_like(dy[0]);
  return {{}, select(n.inputs[0], dy[0], zero), select(n.inputs[0], zero, dy[0])};
}

}  // namespace

extern const Op kConvert{"convert", convert_infer, nullptr, convert_grad, true};
extern const Op kAdd{"add", binary_infer, nullptr, add_grad};
extern const Op kSubtract{"subtract", binary_infer, nullptr, subtract_grad};
extern const Op kMultiply{"multiply", binary_infer, nullptr, multiply_grad};
extern const Op kDivide{"divide", binary_infer, nullptr, divide_grad};
extern const Op kMaximum{"maximum", binary_infer, nullptr, maximum_grad};
extern const Op kNegate{"negate", negate_infer, nullptr, negate_grad};
extern const Op kExp{"exp", same_as_float_input, nullptr, exp_grad};
extern const Op kLog{"log", same_as_float_input, nullptr, log_grad};
extern const Op kSqrt{"sqrt", same_as_float_input, nullptr, sqrt_grad};
extern const Op kRsqrt{"rsqrt", same_as_float_input, nullptr, rsqrt_grad};
extern const Op kTanh{"tanh", same_as_float_input, nullptr, tanh_grad};
extern const Op kCompare{"compare", compare_infer, nullptr, nullptr};
extern const Op kSelect{"select", select_infer, nullptr, select_grad};

Tensor convert(Tensor x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return one(kConvert, {x}, {{"dtype", static_cast<int64_t>(dtype)}});
}
Tensor add(Tensor a, Tensor b) { return one(kAdd, {a, b}); }
Tensor subtract(Tensor a, Tensor b) { return one(kSubtract, {a, b}); }
Tensor multiply(Tensor a, Tensor b) { return one(kMultiply, {a, b}); }
Tensor divide(Tensor a, Tensor b) { return one(kDivide, {a, b}); }
Tensor maximum(Tensor a, Tensor b) { return one(kMaximum, {a, b}); }
Tensor negate(Tensor x) { return one(kNegate, {x}); }
Tensor exp(Tensor x) { return one(kExp, {x}); }
Tensor log(Tensor x) { return one(kLog, {x}); }
Tensor sqrt(Tensor x) { return one(kSqrt, {x}); }
Tensor rsqrt(Tensor x) { return one(kRsqrt, {x}); }
Tensor tanh(Tensor x) { return one(kTanh, {x}); }
Tensor compare(Tensor a, Tensor b, Compare direction) {
  return one(kCompare, {a, b}, {{"direction", static_cast<int64_t>(direction)}});
}
Tensor select(Tensor condition, Tensor a, Tensor b) { return one(kSelect, {condition, a, b}); }

}  // namespace bertrain
