// Cases of the composites that the backward pass and the optimizer record.
#include <limits>

#include "case.h"

namespace bertrain {
namespace {

const std::vector<DType> kFloats = {DType::f32, DType::bf16};

void activations(Cases& all) {
  Values v(21);
  for (DType t : kFloats) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 7}, Shape{2, 1, 33}, Shape{0, 5}}) {
      all.push_back({&kGeluGrad,
                     {v.uniform(t, shape, -4, 4), v.normal(t, shape)},
                     [](Graph&, const Tensors& x) { return Tensors{gelu_grad(x[0], x[1])}; },
                     {0, 1},
                     {0}});
      all.push_back({&kGeluErfGrad,
                     {v.uniform(t, shape, -4, 4), v.normal(t, shape)},
                     [](Graph&, const Tensors& x) { return Tensors{gelu_erf_grad(x[0], x[1])}; },
                     {0, 1},
                     {0}});
    }
  }
}

void norms(Cases& all) {
  Values v(22);
  for (DType t : kFloats) {
    for (const Shape& shape : {Shape{7}, Shape{1, 2}, Shape{3, 5}, Shape{2, 9, 33}, Shape{0, 5}}) {
      Shape rows(shape.begin(), shape.end() - 1);
      Array x = v.normal(t, shape), gamma = v.uniform(DType::f32, {shape.back()}, 0.5, 1.5);
      Array mean = v.normal(DType::f32, rows), rstd = v.uniform(DType::f32, rows, 0.5, 2);
      Array dy = v.normal(t, shape);
      all.push_back({&kLayerNormGrad,
                     {x, gamma, mean, rstd, dy},
                     [](Graph&, const Tensors& in) {
                       NormGrad g = layer_norm_grad(in[0], in[1], in[2], in[3], in[4]);
                       return Tensors{g.dx, g.dgamma, g.dbeta};
                     },
                     {0, 1, 2, 3, 4},
                     {0, 1, 2}});
      for (double rate : {0.0, 0.1}) {
        if (shape.size() != 3) continue;
        Slots s = packed_slots(2, 9, {5, 3});
        all.push_back({&kAddAndNormGrad,
                       {x, gamma, mean, rstd, dy, v.bits({2}), s.number, s.position},
                       [rate](Graph&, const Tensors& in) {
                         AddNormGrad g = add_and_norm_grad(in[0], in[1], in[2], in[3], in[4],
                                                           {in[5], in[6], in[7], rate});
                         return Tensors{g.dx, g.df, g.dgamma, g.dbeta};
                       },
                       {0, 1, 4},
                       {0, 1, 2, 3}});
      }
    }
  }
}

// y and lse are those of q, k, v, as every backend may rely on.
void attentions(Cases& all) {
  Values v(23);
  for (DType t : kFloats) {
    for (const AttentionLayout& l : attention_layouts()) {
      for (double rate : {0.0, 0.1}) {
        Slots s = packed_slots(l.rows, l.slots, l.lengths);
        Shape shape = {l.rows, l.slots, l.heads * l.head};
        Array dy = v.normal(t, shape);
        all.push_back({&kAttentionGrad,
                       {v.normal(t, shape), v.normal(t, shape), v.normal(t, shape), dy, s.example,
                        s.is_key, v.bits({2}), s.number, s.position},
                       [heads = l.heads, rate](Graph& g, const Tensors& in) {
                         Tensor example = in[4], is_key = in[5];
                         Dropout drop{in[6], in[7], in[8], rate};
                         // No loss reads an empty slot, so nothing comes back from one.
                         Tensor none = full(g, example.shape(), -1, DType::i32);
                         Tensor empty = broadcast(compare(example, none, Compare::equal),
                                                  in[3].shape(), {0, 1});
                         Tensor zero = full(g, in[3].shape(), 0, in[3].dtype());
                         Tensor dy = select(empty, zero, in[3]);
                         Attended a = attention(in[0], in[1], in[2], heads, example, is_key, drop);
                         AttentionGrad d = attention_grad(in[0], in[1], in[2], a.y, a.lse, dy,
                                                          heads, example, is_key, drop);
                         return Tensors{select(empty, zero, d.dq), select(empty, zero, d.dk),
                                        select(empty, zero, d.dv)};
                       },
                       {},
                       {}});
      }
    }
  }
}

void losses(Cases& all) {
  Values v(24);
  for (DType t : kFloats) {
    for (const Shape& shape :
         {Shape{1, 1}, Shape{5, 7}, Shape{3, 101}, Shape{37, 1009}, Shape{0, 5}}) {
      all.push_back({&kSoftmaxCrossEntropyGrad,
                     {v.uniform(t, shape, -3, 3), v.ids({shape[0]}, shape[1]),
                      v.uniform(DType::f32, {shape[0]}, 2, 4), v.normal(DType::f32, {shape[0]})},
                     [](Graph&, const Tensors& x) {
                       return Tensors{softmax_cross_entropy_grad(x[0], x[1], x[2], x[3])};
                     },
                     {0, 2, 3},
                     {0}});
    }
  }
}

void updates(Cases& all) {
  Values v(25);
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 7}, Shape{1031}, Shape{0}}) {
    auto setting = [&](float value) { return scalar<float>(value); };
    for (float scale : {1.0f, 0.37f, std::numeric_limits<float>::quiet_NaN()}) {
      bool finite = scale == scale;
      all.push_back({&kAdamW,
                     {v.normal(DType::f32, shape), v.normal(DType::f32, shape),
                      v.normal(DType::f32, shape), v.uniform(DType::f32, shape, 0.5, 2),
                      setting(0.3f), setting(0.01f), setting(1e-3f), setting(scale)},
                     [](Graph&, const Tensors& x) {
                       Updated u =
                           adamw(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], 0.9, 0.999);
                       return Tensors{u.param, u.m, u.v};
                     },
                     finite ? std::vector<size_t>{0, 1, 2, 3, 4, 5, 7} : std::vector<size_t>{},
                     {0, 1, 2}});
    }
  }
}

}  // namespace

Cases gradient_cases() {
  Cases all;
  activations(all);
  norms(all);
  attentions(all);
  losses(all);
  updates(all);
  return all;
}

}  // namespace bertrain
