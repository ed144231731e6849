// Cases of the primitives: odd sizes, primes, 1, empty, both float types and the integers.
#include "case.h"

#include <functional>

namespace bertrain {
namespace {

const std::vector<DType> kFloats = {DType::f32, DType::bf16};
const std::vector<Shape> kShapes = {{}, {1}, {7}, {3, 5}, {2, 1, 13}, {0}, {4, 0}};

using Unary = Tensor (*)(Tensor);
using Binary = Tensor (*)(Tensor, Tensor);

void unary(Cases& all, const Op& op, Unary f, double low, double high) {
  Values values(1);
  for (DType dtype : kFloats) {
    for (const Shape& shape : kShapes) {
      all.push_back({&op,
                     {values.uniform(dtype, shape, low, high)},
                     [f](Graph&, const Tensors& x) { return Tensors{f(x[0])}; },
                     {0},
                     {0}});
    }
  }
}

void binary(Cases& all, const Op& op, Binary f, double low, double high) {
  Values values(2);
  for (DType dtype : kFloats) {
    for (const Shape& shape : kShapes) {
      all.push_back(
          {&op,
           {values.uniform(dtype, shape, low, high), values.uniform(dtype, shape, low, high)},
           [f](Graph&, const Tensors& x) { return Tensors{f(x[0], x[1])}; },
           {0, 1},
           {0}});
    }
  }
  for (const Shape& shape : kShapes) {
    auto record = [f](Graph&, const Tensors& x) { return Tensors{f(x[0], x[1] + x[1])}; };
    if (&op == &kDivide) continue;  // ids may be 0
    all.push_back({&op, {values.ids(shape, 1000), values.ids(shape, 50)}, record, {}, {}});
    all.push_back({&op, {values.bits(shape), values.bits(shape)}, record, {}, {}});
  }
}

void bitwise(Cases& all, const Op& op, Binary f) {
  Values values(3);
  for (const Shape& shape : kShapes) {
    all.push_back({&op,
                   {values.bits(shape), values.bits(shape)},
                   [f](Graph& g, const Tensors& x) {
                     Tensor small = bit_and(x[1], full(g, x[1].shape(), 31, DType::u32));
                     return Tensors{f(x[0], small)};
                   },
                   {},
                   {}});
  }
}

void choices(Cases& all) {
  Values values(4);
  for (const Shape& shape : kShapes) {
    for (DType dtype : kFloats) {
      // One grid for both, so that no maximum is near a tie.
      Shape pair = {2};
      for (int64_t size : shape) pair.push_back(size);
      auto half = [shape](Tensor x, int64_t i) {
        Shape start(x.shape().size(), 0), limit = x.shape();
        start[0] = i, limit[0] = i + 1;
        return reshape(slice(x, start, limit), shape);
      };
      all.push_back({&kMaximum,
                     {values.spaced(dtype, pair)},
                     [half](Graph&, const Tensors& x) {
                       return Tensors{maximum(half(x[0], 0), half(x[0], 1))};
                     },
                     {0},
                     {0}});
      all.push_back(
          {&kSelect,
           {values.flags(shape), values.normal(dtype, shape), values.normal(dtype, shape)},
           [](Graph&, const Tensors& x) { return Tensors{select(x[0], x[1], x[2])}; },
           {1, 2},
           {0}});
      for (int64_t d = 0; d <= static_cast<int64_t>(Compare::greater_equal); ++d) {
        auto record = [d](Graph&, const Tensors& x) {
          return Tensors{compare(x[0], x[1], static_cast<Compare>(d))};
        };
        all.push_back({&kCompare,
                       {values.spaced(dtype, shape), values.spaced(dtype, shape)},
                       record,
                       {},
                       {}});
        all.push_back({&kCompare, {values.ids(shape, 3), values.ids(shape, 3)}, record, {}, {}});
      }
      for (DType to : {DType::f32, DType::bf16, DType::i32}) {
        std::vector<size_t> floats;
        if (to != DType::i32) floats = {0};
        all.push_back({&kConvert,
                       {values.uniform(dtype, shape, -100, 100)},
                       [to](Graph&, const Tensors& x) { return Tensors{convert(x[0], to)}; },
                       dtype == DType::f32 && to == DType::bf16 ? std::vector<size_t>{} : floats,
                       floats});
      }
    }
    for (DType to : {DType::f32, DType::i32, DType::u32, DType::bf16}) {
      auto record = [to](Graph&, const Tensors& x) {
        return Tensors{convert(x[0], to), convert(convert(x[1], DType::u32), to),
                       convert(x[2], to)};
      };
      all.push_back({&kConvert,
                     {values.ids(shape, 1000), values.ids(shape, 9), values.flags(shape)},
                     record,
                     {},
                     {}});
    }
  }
}

// One float input, one output that is moved or summed values of it.
void moved(Cases& all, const Op& op, const Array& x, std::function<Tensor(Tensor)> f) {
  all.push_back({&op, {x}, [f](Graph&, const Tensors& t) { return Tensors{f(t[0])}; }, {0}, {0}});
}

void moves(Cases& all) {
  Values v(5);
  for (DType t : kFloats) {
    moved(all, kReshape, v.normal(t, {3, 4}), [](Tensor x) { return reshape(x, {2, 1, 6}); });
    moved(all, kReshape, v.normal(t, {1}), [](Tensor x) { return reshape(x, {}); });
    moved(all, kReshape, v.normal(t, {0, 4}), [](Tensor x) { return reshape(x, {2, 0}); });
    moved(all, kTranspose, v.normal(t, {3, 5}), [](Tensor x) { return transpose(x, {1, 0}); });
    moved(all, kTranspose, v.normal(t, {2, 3, 1, 7}), [](Tensor x) {
      return transpose(x, {0, 2, 3, 1});
    });
    moved(all, kTranspose, v.normal(t, {2, 0, 3}), [](Tensor x) {
      return transpose(x, {2, 0, 1});
    });
    moved(all, kBroadcast, v.normal(t, {}), [](Tensor x) { return broadcast(x, {3, 2}); });
    moved(all, kBroadcast, v.normal(t, {5}), [](Tensor x) { return broadcast(x, {2, 3, 5}); });
    moved(all, kBroadcast, v.normal(t, {3, 1}), [](Tensor x) { return broadcast(x, {2, 3, 5}); });
    moved(all, kBroadcast, v.normal(t, {3}), [](Tensor x) { return broadcast(x, {3, 4}, {0}); });
    moved(all, kBroadcast, v.normal(t, {1}), [](Tensor x) { return broadcast(x, {0, 4}); });
    moved(all, kSlice, v.normal(t, {7, 5}), [](Tensor x) { return slice(x, {2, 0}, {6, 3}); });
    moved(all, kSlice, v.normal(t, {7}), [](Tensor x) { return slice(x, {3}, {3}); });
    moved(all, kPad, v.normal(t, {2, 3}), [](Tensor x) { return pad(x, {1, 0}, {0, 4}); });
    moved(all, kPad, v.normal(t, {0, 3}), [](Tensor x) { return pad(x, {2, 0}, {0, 0}); });
    all.push_back({&kConcatenate,
                   {v.normal(t, {2, 3}), v.normal(t, {2, 1}), v.normal(t, {2, 0})},
                   [](Graph&, const Tensors& x) { return Tensors{concatenate(x, 1)}; },
                   {0, 1},
                   {0}});
    all.push_back({&kConcatenate,
                   {v.normal(t, {1, 3}), v.normal(t, {5, 3})},
                   [](Graph&, const Tensors& x) { return Tensors{concatenate(x, 0)}; },
                   {0, 1},
                   {0}});
    for (const Shape& ids : {Shape{6}, Shape{2, 3}, Shape{0}, Shape{1}}) {
      all.push_back({&kGatherRows,
                     {v.normal(t, {5, 7}), v.ids(ids, 5)},
                     [](Graph&, const Tensors& x) { return Tensors{gather_rows(x[0], x[1])}; },
                     {0},
                     {0}});
      Shape rows = ids;
      rows.push_back(7);
      for (DType table : {t, DType::f32}) {
        all.push_back(
            {&kScatterAddRows,
             {v.normal(table, {5, 7}), v.ids(ids, 5), v.normal(t, rows)},
             [](Graph&, const Tensors& x) { return Tensors{scatter_add_rows(x[0], x[1], x[2])}; },
             {0, 2},
             {0}});
      }
    }
    all.push_back({&kBarrier,
                   {v.normal(t, {3}), v.normal(t, {2, 2})},
                   [](Graph&, const Tensors& x) { return barrier(x); },
                   {0, 1},
                   {0, 1}});
    all.push_back({&kAllReduceSum,
                   {v.normal(t, {3, 5})},
                   [](Graph&, const Tensors& x) { return Tensors{all_reduce_sum(x[0])}; },
                   {},
                   {}});
  }
  for (DType t : {DType::i32, DType::u32, DType::f32}) {
    all.push_back(
        {&kIota,
         {},
         [t](Graph& g, const Tensors&) {
           return Tensors{iota(g, {3, 5}, 0, t), iota(g, {3, 5}, 1, t), iota(g, {0}, 0, t)};
         },
         {},
         {}});
  }
}

void sums(Cases& all) {
  Values v(6);
  for (DType t : kFloats) {
    for (const std::vector<int64_t>& axes :
         {std::vector<int64_t>{0}, {1}, {2}, {0, 2}, {0, 1, 2}}) {
      moved(all, kReduceSum, v.normal(t, {3, 5, 7}),
            [axes](Tensor x) { return reduce_sum(x, axes); });
      moved(all, kReduceMax, v.spaced(t, {3, 2, 5}),
            [axes](Tensor x) { return reduce_max(x, axes); });
    }
    moved(all, kReduceSum, v.normal(t, {0, 3}), [](Tensor x) { return reduce_sum(x, {0}); });
    moved(all, kReduceSum, v.normal(t, {}), [](Tensor x) { return reduce_sum(x, {}); });
    moved(all, kReduceMax, v.spaced(t, {0, 3}), [](Tensor x) { return reduce_max(x, {1}); });
    struct Sizes {
      int64_t m, k, n;
    };
    for (auto [m, k, n] :
         {Sizes{1, 1, 1}, {3, 5, 7}, {13, 1, 2}, {0, 3, 2}, {2, 0, 3}, {17, 33, 65}}) {
      for (bool ta : {false, true}) {
        for (bool tb : {false, true}) {
          for (const Shape& batch : {Shape{}, Shape{2}, Shape{2, 3}}) {
            if (m > 13 && !batch.empty()) continue;
            Shape a = batch, b = batch;
            a.insert(a.end(), {ta ? k : m, ta ? m : k});
            b.insert(b.end(), {tb ? n : k, tb ? k : n});
            for (DType to : {DType::f32, t}) {
              if (to == t && t == DType::f32 && !batch.empty()) continue;
              MatmulOptions o{ta, tb, to};
              all.push_back(
                  {&kMatmul,
                   {v.normal(t, a), v.normal(t, b)},
                   [o](Graph&, const Tensors& x) { return Tensors{matmul(x[0], x[1], o)}; },
                   {0, 1},
                   {0}});
            }
          }
        }
      }
    }
  }
  all.push_back({&kReduceMax,
                 {v.ids({3, 5}, 100)},
                 [](Graph&, const Tensors& x) {
                   return Tensors{reduce_max(x[0], {1}), reduce_sum(x[0], {0})};
                 },
                 {},
                 {}});
}

}  // namespace

Cases primitive_cases() {
  Cases all;
  unary(all, kNegate, negate, -2, 2);
  unary(all, kExp, exp, -3, 3);
  unary(all, kLog, log, 0.3, 5);
  unary(all, kSqrt, sqrt, 0.3, 5);
  unary(all, kRsqrt, rsqrt, 0.3, 5);
  unary(all, kTanh, tanh, -3, 3);
  binary(all, kAdd, add, -2, 2);
  binary(all, kSubtract, subtract, -2, 2);
  binary(all, kMultiply, multiply, -2, 2);
  binary(all, kDivide, divide, 0.5, 2);
  bitwise(all, kBitAnd, bit_and);
  bitwise(all, kBitOr, bit_or);
  bitwise(all, kBitXor, bit_xor);
  bitwise(all, kShiftLeft, shift_left);
  bitwise(all, kShiftRight, shift_right);
  choices(all);
  moves(all);
  sums(all);
  return all;
}

}  // namespace bertrain
