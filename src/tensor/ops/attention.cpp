// Scaled dot-product attention inside each example [Vaswani et al. 2017, section 3.2], here by the
// whole square of scores with a mask; a backend that takes it walks the examples instead.
#include <cmath>

#include "tensor/ops/dropout.h"
#include "tensor/ops/op_table.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"

namespace bertrain {
namespace {

// Inputs 0 … 2 are q, k, v; `example`, `is_key` and the dropout follow from `first` on.
void demand_attention(const Node& n, size_t first) {
  demand_float(n, 0, "q");
  demand_same(n, 0, 1);
  demand_same(n, 0, 2);
  const Shape& q = n.inputs[0].shape();
  if (q.size() != 3) throw error("q must be [R, S, H], but is {}", to_string(q));
  int64_t heads = n.integer("heads");
  if (heads < 1 || q[2] % heads != 0) throw error("{} columns in {} heads", q[2], heads);
  if (q[2] == 0 || q[1] == 0) throw error("no attention to nothing");
  Shape slots = {q[0], q[1]};
  for (size_t i : {first, first + 1}) {
    std::string_view what = i == first ? "example" : "is_key";
    demand_dtype(n, i, DType::i32, what);
    demand_shape(n, i, slots, what);
  }
  demand_dropout(n, first + 2, slots);
}

ArrayType lse_type(const Node& n) {
  const Shape& q = n.inputs[0].shape();
  return {DType::f32, {q[0], n.integer("heads"), q[1]}};
}

Tensor split_heads(Tensor x, int64_t heads) {  // [R, S, H] → f32 [R, N, S, D]
  Tensor y = reshape(x, {x.extent(0), x.extent(1), heads, x.extent(2) / heads});
  return transpose(convert(y, DType::f32), {0, 2, 1, 3});
}

Tensor join_heads(Tensor x, DType dtype) {  // [R, N, S, D] → [R, S, H]
  Tensor y = transpose(x, {0, 2, 1, 3});
  return convert(reshape(y, {y.extent(0), y.extent(1), y.extent(2) * y.extent(3)}), dtype);
}

// Which key each query may see: boolean [R, N, S, S].
Tensor visible(Tensor example, Tensor is_key, int64_t heads) {
  Graph& g = example.graph();
  int64_t rows = example.extent(0), slots = example.extent(1);
  Shape pairs = {rows, slots, slots};
  Tensor same =
      compare(broadcast(example, pairs, {0, 1}), broadcast(example, pairs, {0, 2}), Compare::equal);
  Tensor zero = full(g, is_key.shape(), 0, DType::i32);
  Tensor key = broadcast(compare(is_key, zero, Compare::not_equal), pairs, {0, 2});
  Tensor both = select(same, key, full(g, pairs, 0, DType::boolean));
  return broadcast(both, {rows, heads, slots, slots}, {0, 2, 3});
}

// What dropout multiplies the probabilities by: f32 [R, N, S, S].
Tensor factors(const Dropout& d, int64_t heads) {
  Graph& g = d.key.graph();
  int64_t rows = d.number.extent(0), slots = d.number.extent(1);
  Shape square = {rows, heads, slots, slots};
  auto constant = [&](double value) { return full(g, square, value, DType::u32); };
  Tensor position = convert(d.position, DType::u32);
  Tensor query = broadcast(position, square, {0, 2}), key = broadcast(position, square, {0, 3});
  Tensor head = iota(g, square, 1, DType::u32);
  Tensor number = broadcast(d.number, square, {0, 2});
  Tensor pair = bit_or(shift_left(query, constant(14)), shift_right(key, constant(2)));
  Bits bits = random_bits(d.key, number * constant(static_cast<double>(heads)) + head, pair);
  Tensor lane = bit_and(key, constant(3));
  Tensor word = select(compare(lane, constant(2), Compare::less), bits.low, bits.high);
  Tensor odd = compare(bit_and(lane, constant(1)), constant(1), Compare::equal);
  Tensor half = select(odd, shift_right(word, constant(16)), bit_and(word, constant(0xFFFF)));
  return dropout_factors(half, d.rate);
}

Tensor scores(Tensor q, Tensor k) {  // [R, N, S, D] → [R, N, S, S]
  return matmul(q, k, {false, true}) * (1 / std::sqrt(static_cast<double>(q.extent(-1))));
}

std::vector<ArrayType> attention_infer(const Node& n) {
  demand_inputs(n, 8, 5);
  demand_attention(n, 3);
  return {n.inputs[0].type(), lse_type(n)};
}

// A query without any key (an empty slot) gets y = 0 and a finite lse far below every other.
Tensors attention_expand(const Node& n) {
  int64_t heads = n.integer("heads"), slots = n.inputs[0].extent(1);
  Graph& g = n.inputs[0].graph();
  Tensor s = scores(split_heads(n.inputs[0], heads), split_heads(n.inputs[1], heads));
  Tensor seen = visible(n.inputs[3], n.inputs[4], heads), zero = full(g, s.shape(), 0);
  s = select(seen, s, full(g, s.shape(), -1e9));
  Tensor max = reduce_max(s, {3});                                     // [R, N, S]
  Tensor e = select(seen, exp(s - broadcast_last(max, slots)), zero);  // [R, N, S, S]
  Tensor sum = maximum(reduce_sum(e, {3}), full(g, max.shape(), 1e-30));
  Tensor p = e / broadcast_last(sum, slots);
  if (Dropout d = dropout_of(n, 5); d.on()) p = p * factors(d, heads);
  Tensor y = matmul(p, split_heads(n.inputs[2], heads));  // [R, N, S, D]
  return {join_heads(y, n.outputs[0].dtype), max + log(sum)};
}

Tensors attention_backward(const Node& n, const Tensors& y, const Tensors& dy) {
  check(!dy[1], "nothing may be differentiated through the log-sum-exp of attention");
  AttentionGrad g = attention_grad(n.inputs[0], n.inputs[1], n.inputs[2], y[0], y[1], dy[0],
                                   n.integer("heads"), n.inputs[3], n.inputs[4], dropout_of(n, 5));
  return {g.dq, g.dk, g.dv, {}, {}, {}, {}, {}};
}

std::vector<ArrayType> attention_grad_infer(const Node& n) {
  demand_inputs(n, 11, 8);
  demand_attention(n, 6);
  demand_same(n, 0, 3);
  demand_dtype(n, 4, DType::f32, "lse");
  demand_shape(n, 4, lse_type(n).shape, "lse");
  demand_same(n, 0, 5);
  return {n.inputs[0].type(), n.inputs[0].type(), n.inputs[0].type()};
}

// With P = exp(s − lse), m the dropout factors and ∘ by element:  dV = (P ∘ m)ᵀ dY,
// dP = (dY Vᵀ) ∘ m,  dS = P ∘ (dP − Σ dY Y),  dQ = dS K / √D,  dK = dSᵀ Q / √D
// [Dao et al. 2022, appendix B].
Tensors attention_grad_expand(const Node& n) {
  int64_t heads = n.integer("heads"), slots = n.inputs[0].extent(1);
  Graph& g = n.inputs[0].graph();
  auto part = [&](size_t i) { return split_heads(n.inputs[i], heads); };
  Tensor q = part(0), k = part(1), v = part(2), dy = part(5);
  Tensor s = scores(q, k), seen = visible(n.inputs[6], n.inputs[7], heads);
  Tensor far = full(g, s.shape(), -1e9), zero = full(g, s.shape(), 0);
  Tensor p = exp(select(seen, s - broadcast_last(n.inputs[4], slots), far));
  Tensor dp = matmul(dy, v, {false, true}), kept = p;
  if (Dropout d = dropout_of(n, 8); d.on()) {
    Tensor m = factors(d, heads);
    kept = p * m;
    dp = dp * m;
  }
  Tensor dv = matmul(kept, dy, {true, false});
  Tensor sum = reduce_sum(dy * part(3), {3});  // [R, N, S]
  Tensor ds = select(seen, p * (dp - broadcast_last(sum, slots)), zero);
  ds = ds * (1 / std::sqrt(static_cast<double>(q.extent(-1))));
  DType dtype = n.outputs[0].dtype;
  return {join_heads(matmul(ds, k), dtype), join_heads(matmul(ds, q, {true, false}), dtype),
          join_heads(dv, dtype)};
}

Attrs attention_attrs(int64_t heads, const Dropout& dropout) {
  return {{"heads", heads}, {"rate", dropout.on() ? dropout.rate : 0.0}};
}

}  // namespace

extern const Op kAttention{"attention", attention_infer, attention_expand, attention_backward};
extern const Op kAttentionGrad{"attention_grad", attention_grad_infer, attention_grad_expand,
                               nullptr};

Attended attention(Tensor q, Tensor k, Tensor v, int64_t heads, Tensor example, Tensor is_key,
                   const Dropout& dropout) {
  Tensors inputs = {q, k, v, example, is_key};
  append_dropout(inputs, dropout);
  Tensors y = q.graph().apply(kAttention, std::move(inputs), attention_attrs(heads, dropout));
  return {y[0], y[1]};
}

AttentionGrad attention_grad(Tensor q, Tensor k, Tensor v, Tensor y, Tensor lse, Tensor dy,
                             int64_t heads, Tensor example, Tensor is_key, const Dropout& dropout) {
  Tensors inputs = {q, k, v, y, lse, dy, example, is_key};
  append_dropout(inputs, dropout);
  Tensors d = q.graph().apply(kAttentionGrad, std::move(inputs), attention_attrs(heads, dropout));
  return {d[0], d[1], d[2]};
}

}  // namespace bertrain
