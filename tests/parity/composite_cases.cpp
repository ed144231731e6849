// Cases of the composites that models record.
#include "case.h"

namespace bertrain {
namespace {

const std::vector<DType> kFloats = {DType::f32, DType::bf16};

void activations(Cases& all) {
  struct Activation {
    const Op* op;
    Tensor (*f)(Tensor);
  };
  Values v(11);
  for (const Activation& a : {Activation{&kGelu, gelu}, {&kGeluErf, gelu_erf}, {&kErf, erf}}) {
    for (DType t : kFloats) {
      for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 7}, Shape{2, 1, 33}, Shape{0, 5}}) {
        all.push_back({a.op,
                       {v.uniform(t, shape, -4, 4)},
                       [f = a.f](Graph&, const Tensors& x) { return Tensors{f(x[0])}; },
                       {0},
                       {0}});
      }
    }
  }
  for (DType t : kFloats) {
    for (const Shape& shape : {Shape{1}, Shape{3, 7}, Shape{0}}) {
      all.push_back({&kRelu,
                     {v.spaced(t, shape)},
                     [](Graph&, const Tensors& x) { return Tensors{relu(x[0])}; },
                     {0},
                     {0}});
    }
    for (const Shape& shape : {Shape{1}, Shape{7}, Shape{3, 1}, Shape{2, 3, 17}, Shape{0, 5}}) {
      all.push_back({&kSoftmax,
                     {v.uniform(t, shape, -3, 3)},
                     [](Graph&, const Tensors& x) { return Tensors{softmax(x[0])}; },
                     {0},
                     {0}});
    }
  }
}

void linears(Cases& all) {
  Values v(12);
  struct Sizes {
    Shape leading;
    int64_t k, n;
  };
  for (DType t : kFloats) {
    for (const Sizes& s : {Sizes{{}, 3, 2},
                           {{1}, 1, 1},
                           {{5}, 7, 3},
                           {{2, 3}, 13, 17},
                           {{0}, 4, 3},
                           {{37}, 64, 33},
                           {{1, 50}, 129, 65},
                           {{211}, 257, 384}}) {
      for (bool transposed : {false, true}) {
        for (bool with_bias : {false, true}) {
          Shape x = s.leading, w = transposed ? Shape{s.n, s.k} : Shape{s.k, s.n};
          x.push_back(s.k);
          Case c{&kLinear, {v.normal(t, x), v.normal(t, w)}, {}, {0, 1}, {0}};
          if (with_bias) {
            c.inputs.push_back(v.normal(s.leading.size() == 2 ? DType::f32 : t, {s.n}));
            c.wrt.push_back(2);
          }
          c.record = [transposed](Graph&, const Tensors& in) {
            return Tensors{linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), transposed)};
          };
          all.push_back(std::move(c));
        }
      }
    }
  }
}

void norms(Cases& all) {
  Values v(13);
  for (DType t : kFloats) {
    for (const Shape& shape : {Shape{7}, Shape{1, 2}, Shape{3, 5}, Shape{2, 3, 33}, Shape{0, 5}}) {
      all.push_back({&kLayerNorm,
                     {v.normal(t, shape), v.uniform(DType::f32, {shape.back()}, 0.5, 1.5),
                      v.normal(DType::f32, {shape.back()})},
                     [](Graph&, const Tensors& x) {
                       Normed n = layer_norm(x[0], x[1], x[2], 1e-3);
                       return Tensors{n.y, n.mean, n.rstd};
                     },
                     {0, 1, 2},
                     {0}});
    }
  }
}

void dropouts(Cases& all) {
  Values v(14);
  for (DType t : kFloats) {
    for (int64_t columns : {1, 4, 7, 33, 768}) {
      for (double rate : {0.0, 0.1, 0.5}) {
        Slots s = packed_slots(2, 9, {5, 3});
        Array key = v.bits({2}), x = v.normal(t, {2, 9, columns});
        auto drop = [rate](const Tensors& in, size_t first) {
          return Dropout{in[first], in[first + 1], in[first + 2], rate};
        };
        all.push_back({&kDropout,
                       {x, key, s.number, s.position},
                       [drop](Graph&, const Tensors& in) {
                         return Tensors{dropout(in[0], drop(in, 1)) + in[0]};
                       },
                       {0},
                       {0}});
        if (columns == 1) continue;  // the norm of one value is 0 whatever it is
        Array gamma = v.uniform(DType::f32, {columns}, 0.5, 1.5),
              beta = v.normal(DType::f32, {columns});
        // Through y, through z, and through both.
        for (const std::vector<size_t>& through : {std::vector<size_t>{0}, {1}, {0, 1}}) {
          all.push_back({&kAddAndNorm,
                         {x, v.normal(t, {2, 9, columns}), gamma, beta, key, s.number, s.position},
                         [drop](Graph&, const Tensors& in) {
                           AddedNormed n =
                               add_and_norm(in[0], in[1], in[2], in[3], drop(in, 4), 1e-3);
                           return Tensors{n.y, n.z, n.mean, n.rstd};
                         },
                         {0, 1, 2, 3},
                         through});
        }
      }
    }
  }
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 7}, Shape{0}}) {
    all.push_back({&kRandomBits,
                   {v.bits({2}), v.bits(shape), v.bits(shape)},
                   [](Graph&, const Tensors& x) {
                     Bits b = random_bits(x[0], x[1], x[2]);
                     return Tensors{b.low, b.high};
                   },
                   {},
                   {}});
  }
}

// The log-sum-exp and the values of empty slots are no one's business: they are taken out.
Tensor of_examples(Tensor x, Tensor example, std::vector<int64_t> axes) {
  Graph& g = x.graph();
  Tensor empty = compare(example, full(g, example.shape(), -1, DType::i32), Compare::equal);
  return select(broadcast(empty, x.shape(), axes), full(g, x.shape(), 0, x.dtype()), x);
}

void attentions(Cases& all) {
  Values v(15);
  for (DType t : kFloats) {
    for (const AttentionLayout& l : attention_layouts()) {
      for (double rate : {0.0, 0.1}) {
        Slots s = packed_slots(l.rows, l.slots, l.lengths);
        Shape shape = {l.rows, l.slots, l.heads * l.head};
        all.push_back(
            {&kAttention,
             {v.normal(t, shape), v.normal(t, shape), v.normal(t, shape), s.example, s.is_key,
              v.bits({2}), s.number, s.position},
             [heads = l.heads, rate](Graph&, const Tensors& in) {
               Attended a =
                   attention(in[0], in[1], in[2], heads, in[3], in[4], {in[5], in[6], in[7], rate});
               return Tensors{of_examples(a.y, in[3], {0, 1}), of_examples(a.lse, in[3], {0, 2})};
             },
             {0, 1, 2},
             {0}});
      }
    }
  }
}

void losses(Cases& all) {
  Values v(16);
  for (DType t : kFloats) {
    for (const Shape& shape :
         {Shape{1, 1}, Shape{1, 2}, Shape{5, 7}, Shape{3, 101}, Shape{37, 1009}, Shape{0, 5}}) {
      all.push_back({&kSoftmaxCrossEntropy,
                     {v.uniform(t, shape, -3, 3), v.ids({shape[0]}, shape[1])},
                     [](Graph&, const Tensors& x) {
                       CrossEntropy c = softmax_cross_entropy(x[0], x[1]);
                       return Tensors{c.loss, c.lse, c.argmax};
                     },
                     {0},
                     {0}});
    }
    all.push_back(
        {&kSumOfSquares,
         {v.normal(t, {3, 5}), v.normal(DType::f32, {}), v.normal(t, {0}), v.normal(t, {31})},
         [](Graph&, const Tensors& x) { return Tensors{sum_of_squares(x)}; },
         {0, 1, 3},
         {0}});
    // Beside so large a sum, f32 rounding hides the slope of one element.
    all.push_back({&kSumOfSquares,
                   {v.normal(t, {1001})},
                   [](Graph&, const Tensors& x) { return Tensors{sum_of_squares(x)}; },
                   {},
                   {}});
    all.push_back({&kSumOfSquares,
                   {v.normal(t, {7})},
                   [](Graph&, const Tensors& x) { return Tensors{sum_of_squares(x)}; },
                   {0},
                   {0}});
  }
}

}  // namespace

Cases composite_cases() {
  Cases all;
  activations(all);
  linears(all);
  norms(all);
  dropouts(all);
  attentions(all);
  losses(all);
  return all;
}

}  // namespace bertrain
