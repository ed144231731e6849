// Dropout [Srivastava et al. 2014] whose decisions depend on example, position and column only.
#include "tensor/ops/dropout.h"

#include <cmath>

#include "tensor/ops/op_table.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

std::vector<ArrayType> dropout_infer(const Node& n) {
  demand_inputs(n, 4);
  demand_float(n, 0, "x");
  demand_rank(n, 0, 1, "x");
  demand_dropout(n, 1, without_last(n.inputs[0].shape()));
  return {n.inputs[0].type()};
}

// Column c of [..., C] takes lane c mod 4 of the draw for (number, position ⌈C/4⌉ + ⌊c/4⌋).
Tensors dropout_expand(const Node& n) {
  Tensor x = n.inputs[0];
  Dropout d = dropout_of(n, 1);
  Graph& g = x.graph();
  int64_t columns = x.extent(-1), draws = (columns + 3) / 4;
  Shape shape = x.shape();
  shape.back() = draws;

  Tensor number = broadcast_last(d.number, draws);                           // [..., C/4]
  Tensor position = broadcast_last(convert(d.position, DType::u32), draws);  // [..., C/4]
  Tensor column = iota(g, shape, static_cast<int64_t>(shape.size()) - 1, DType::u32);
  Tensor counter = position * full(g, shape, static_cast<double>(draws), DType::u32) + column;
  Bits bits = random_bits(d.key, number, counter);

  Tensor sixteen = full(g, shape, 16, DType::u32), mask = full(g, shape, 0xFFFF, DType::u32);
  Shape lane = shape;
  lane.push_back(1);
  auto half = [&](Tensor t) { return reshape(t, lane); };
  Tensor halves =
      concatenate({half(bit_and(bits.low, mask)), half(shift_right(bits.low, sixteen)),
                   half(bit_and(bits.high, mask)), half(shift_right(bits.high, sixteen))},
                  static_cast<int64_t>(shape.size()));  // [..., C/4, 4]
  shape.back() = 4 * draws;
  halves = slice(reshape(halves, shape), Shape(shape.size(), 0), x.shape());  // [..., C]
  Tensor y = convert(x, DType::f32) * dropout_factors(halves, d.rate);
  return {convert(y, x.dtype())};
}

Tensors dropout_grad(const Node& n, const Tensors&, const Tensors& dy) {
  return {dropout(dy[0], dropout_of(n, 1)), {}, {}, {}};
}

}  // namespace

extern const Op kDropout{"dropout", dropout_infer, dropout_expand, dropout_grad};

uint32_t dropout_threshold(double rate) { return static_cast<uint32_t>(std::lround(65536 * rate)); }

double dropout_scale(double rate) { return 1 / (1 - dropout_threshold(rate) / 65536.0); }

void append_dropout(Tensors& inputs, const Dropout& dropout) {
  bool on = dropout.on();
  inputs.push_back(on ? dropout.key : Tensor());
  inputs.push_back(on ? dropout.number : Tensor());
  inputs.push_back(on ? dropout.position : Tensor());
}

Dropout dropout_of(const Node& node, size_t first) {
  return {node.inputs[first], node.inputs[first + 1], node.inputs[first + 2], node.real("rate")};
}

void demand_dropout(const Node& node, size_t first, const Shape& slots) {
  double rate = node.real("rate");
  if (!(rate >= 0) || dropout_threshold(rate) >= 65536) {
    throw error("a dropout rate of {} is not in [0, 1)", rate);
  }
  if (!node.inputs[first]) return;
  demand_dtype(node, first, DType::u32, "the dropout key");
  demand_shape(node, first, {2}, "the dropout key");
  check(node.inputs[first + 1] && node.inputs[first + 2], "dropout without numbers or positions");
  demand_dtype(node, first + 1, DType::u32, "number");
  demand_shape(node, first + 1, slots, "number");
  demand_dtype(node, first + 2, DType::i32, "position");
  demand_shape(node, first + 2, slots, "position");
}

Tensor dropout_factors(Tensor halves, double rate) {
  Graph& g = halves.graph();
  const Shape& shape = halves.shape();
  Tensor stays =
      compare(halves, full(g, shape, dropout_threshold(rate), DType::u32), Compare::greater_equal);
  return select(stays, full(g, shape, dropout_scale(rate)), full(g, shape, 0));
}

Tensor dropout(Tensor x, const Dropout& dropout) {
  if (!dropout.on()) return x;
  Tensors inputs = {x};
  append_dropout(inputs, dropout);
  return x.graph().apply(kDropout, std::move(inputs), {{"rate", dropout.rate}})[0];
}

}  // namespace bertrain
