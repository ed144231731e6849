// The functions that record ops: what each computes, with shapes and attributes. Letters: see
// model/config.h.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/graph.h"

namespace bertrain {

// --- primitives: every backend has them. Element-wise ones take equal shapes and dtypes; nothing
// broadcasts unasked. ---
Tensor convert(Tensor x, DType dtype);  // attr dtype
Tensor add(Tensor a, Tensor b);
Tensor subtract(Tensor a, Tensor b);
Tensor multiply(Tensor a, Tensor b);
Tensor divide(Tensor a, Tensor b);
Tensor maximum(Tensor a, Tensor b);
Tensor negate(Tensor x);
Tensor exp(Tensor x);
Tensor log(Tensor x);
Tensor sqrt(Tensor x);
Tensor rsqrt(Tensor x);
Tensor tanh(Tensor x);
enum class Compare : int64_t { equal, not_equal, less, less_equal, greater, greater_equal };
Tensor compare(Tensor a, Tensor b, Compare direction);  // attr direction; → boolean
Tensor select(Tensor condition, Tensor a, Tensor b);    // a where the condition holds, else b
Tensor reshape(Tensor x, Shape shape);                  // attr shape; one extent may be −1
// attr axes: result axis i is x's axis axes[i]
Tensor transpose(Tensor x, std::vector<int64_t> axes);
// attrs shape, axes: x's axis i is result axis axes[i]
Tensor broadcast(Tensor x, Shape shape, std::vector<int64_t> axes);
// NumPy's rule: x's axes are the last ones, extents 1 stretch
Tensor broadcast(Tensor x, Shape shape);
Tensor concatenate(Tensors xs, int64_t axis);  // attr axis
// attrs start, limit
Tensor slice(Tensor x, std::vector<int64_t> start, std::vector<int64_t> limit);
// attrs low, high; with zeros
Tensor pad(Tensor x, std::vector<int64_t> low, std::vector<int64_t> high);
// attrs shape, axis, dtype: 0, 1, … along axis
Tensor iota(Graph& graph, Shape shape, int64_t axis, DType dtype);
// attr axes, which vanish; of floats the sum is f32
Tensor reduce_sum(Tensor x, std::vector<int64_t> axes);
Tensor reduce_max(Tensor x, std::vector<int64_t> axes);  // attr axes, which vanish
struct MatmulOptions {
  bool transpose_a = false, transpose_b = false;  // of the last two axes
  DType dtype = DType::f32;                       // of the result; sums are f32
};
// a [..., M, K] · b [..., K, N] → [..., M, N]; equal leading axes. attrs transpose_a, transpose_b,
// dtype
Tensor matmul(Tensor a, Tensor b, MatmulOptions options = {});

// Arithmetic operations of a node, by the rule of thumb that counts multiplications and additions of a
// matrix product, and of any other node one for each element of its first result.
double operations_of(const Node& node);
// rows of table [V, ...] at ids i32 [...] → [ids..., ...]. An id outside 0 … V − 1 is an Error on
// backends that can see it.
Tensor gather_rows(Tensor table, Tensor ids);
Tensor scatter_add_rows(Tensor into, Tensor ids,
                        Tensor rows);  // into [V, H] + rows [..., H] added at ids [...]
                                       // (bf16 rows may be added into an f32 table)
Tensor bit_and(Tensor a, Tensor b);    // u32
Tensor bit_or(Tensor a, Tensor b);
Tensor bit_xor(Tensor a, Tensor b);
Tensor shift_left(Tensor a, Tensor b);
Tensor shift_right(Tensor a, Tensor b);  // logical
Tensor all_reduce_sum(Tensor x);         // over replicas and ranks
Tensors barrier(Tensors xs);             // the same values; nothing moves across

// --- composites: expanded unless the backend takes them ---
// x [..., K] · w [K, N] (+ bias [N], may be absent) → [..., N]; with transpose_w, w is [N, K]. attr
// transpose_w
Tensor linear(Tensor x, Tensor w, Tensor bias, bool transpose_w = false);
Tensor gelu(Tensor x);      // tanh form (Google's code)
Tensor gelu_erf(Tensor x);  // x Φ(x) (Hugging Face's "gelu")
Tensor erf(Tensor x);
Tensor relu(Tensor x);
Tensor softmax(Tensor x);  // over the last axis

// Layer normalization over the last axis [Ba et al. 2016]: y [..., H], mean and rstd f32 [...].
struct Normed {
  Tensor y, mean, rstd;
};
Normed layer_norm(Tensor x, Tensor gamma, Tensor beta, double epsilon);  // attr epsilon

// Where a random decision belongs: none of it depends on rows, micro-batches, replicas, ranks or
// padding.
struct Dropout {
  Tensor key;       // u32 [2] (Scope::dropout_key); absent: no dropout
  Tensor number;    // u32 [...]: number of the example in the global batch
  Tensor position;  // i32 [...]: position in the example
  double rate = 0;  // kept iff 16 bits ≥ round(65536 rate); kept values are divided by 1 −
                    // round(65536 rate) / 65536
  bool on() const { return static_cast<bool>(key) && rate > 0; }
};
// 64 bits each: threefry-2x32-20(key u32 [2], {c0, c1}) for u32 counters of one shape → two u32 of
// that shape.
struct Bits {
  Tensor low, high;
};
Bits random_bits(Tensor key, Tensor c0, Tensor c1);
// x [..., C] with number, position [...]: element (n, p, c) takes lane c mod 4 of random_bits(key,
// n, p ⌈C/4⌉ + ⌊c/4⌋); lanes 0 … 3 are low's low half, low's high half, high's low half, high's
// high half. attr rate
Tensor dropout(Tensor x, const Dropout& dropout);

// z = x + dropout(f); y = layer_norm(z). One pass on backends that take it. attrs rate, epsilon
struct AddedNormed {
  Tensor y, z, mean, rstd;
};
AddedNormed add_and_norm(Tensor x, Tensor f, Tensor gamma, Tensor beta, const Dropout& dropout,
                         double epsilon);

// Scaled dot-product attention of every head inside each example [Vaswani et al. 2017,
// section 3.2]. q, k, v [R, S, H]; head h owns columns h·D …; example i32 [R, S] (−1: empty slot);
// is_key i32 [R, S] (0: never attended to). The slots of one example are adjacent, at positions 0, 1, … y [R, S, H]; lse
// f32 [R, N, S]: log of the sum of exponentials. Scores are q·k / √D. Probability (query p, key j,
// head h of N, example number n) takes lane j mod 4 of random_bits(key, n N + h, (p << 14) | (j >>
// 2)), p and j being positions in the example. Empty slots and their gradients are zero or
// meaningless but finite. attrs heads, rate
struct Attended {
  Tensor y, lse;
};
Attended attention(Tensor q, Tensor k, Tensor v, int64_t heads, Tensor example, Tensor is_key,
                   const Dropout& dropout);

// logits [M, V], label i32 [M] → loss f32 [M] = lse − logits[label], lse f32 [M], argmax i32 [M]
// (the first maximum).
struct CrossEntropy {
  Tensor loss, lse, argmax;
};
CrossEntropy softmax_cross_entropy(Tensor logits, Tensor label);

Tensor sum_of_squares(Tensors xs);  // f32 []: over all elements of all xs (one at least)

// AdamW of the reference code: m' = β₁ m + (1 − β₁) g s; v' = β₂ v + (1 − β₂) (g s)²;
// w' = w − decay w − rate m' / (√v' + epsilon). rate, decay, epsilon, scale (s) are f32 []: the
// host computes bias correction into rate and epsilon, and decay is 0 for parameters that are not
// decayed. If s is NaN (the norm was not finite) all three are returned unchanged. attrs beta1,
// beta2
struct Updated {
  Tensor param, m, v;
};
Updated adamw(Tensor param, Tensor grad, Tensor m, Tensor v, Tensor rate, Tensor decay,
              Tensor epsilon, Tensor scale, double beta1, double beta2);

// --- gradients that deserve a kernel; each expands too ---
Tensor gelu_grad(Tensor x, Tensor dy);
Tensor gelu_erf_grad(Tensor x, Tensor dy);
struct NormGrad {
  Tensor dx, dgamma, dbeta;  // dgamma, dbeta f32 [H]
};
NormGrad layer_norm_grad(Tensor x, Tensor gamma, Tensor mean, Tensor rstd, Tensor dy);
struct AddNormGrad {
  Tensor dx, df, dgamma, dbeta;
};
AddNormGrad add_and_norm_grad(Tensor z, Tensor gamma, Tensor mean, Tensor rstd, Tensor dy,
                              const Dropout& dropout);
struct AttentionGrad {
  Tensor dq, dk, dv;
};
AttentionGrad attention_grad(Tensor q, Tensor k, Tensor v, Tensor y, Tensor lse, Tensor dy,
                             int64_t heads, Tensor example, Tensor is_key, const Dropout& dropout);
Tensor softmax_cross_entropy_grad(Tensor logits, Tensor label, Tensor lse, Tensor dloss);  // [M, V]

// --- shorthands over the above ---
Tensor full(Graph& graph, Shape shape, double value, DType dtype = DType::f32);
Tensor broadcast_last(Tensor x, int64_t count);  // [...] → [..., count]
Tensor operator+(Tensor a, Tensor b);
Tensor operator-(Tensor a, Tensor b);
Tensor operator*(Tensor a, Tensor b);
Tensor operator/(Tensor a, Tensor b);
Tensor operator+(Tensor a, double b);
Tensor operator-(Tensor a, double b);
Tensor operator-(double a, Tensor b);
Tensor operator*(Tensor a, double b);

}  // namespace bertrain
