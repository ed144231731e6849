// Softmax and cross entropy, a row at a time.
#include "backend/cpu/kernels/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/softmax.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/kernels/vector_math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bertrain {
namespace HWY_NAMESPACE {
namespace {

template <class T>
HWY_INLINE float largest(const T* x, int64_t count) {
  const V lowest = hn::Set(kF, -std::numeric_limits<float>::infinity());
  V best[4] = {lowest, lowest, lowest, lowest};
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    for (int64_t u = 0; u < 4; ++u) best[u] = hn::Max(best[u], load(x + i + u * kLanes));
  }
  for (; i < count; i += kLanes) {
    const int64_t n = std::min(kLanes, count - i);
    V v = load(x + i, n);
    if (n < kLanes) v = hn::IfThenElse(hn::FirstN(kF, static_cast<size_t>(n)), v, lowest);
    best[0] = hn::Max(best[0], v);
  }
  const V most = hn::Max(hn::Max(best[0], best[1]), hn::Max(best[2], best[3]));
  return hn::GetLane(hn::MaxOfLanes(kF, most));
}

// The first place of `value`; the last place of all where it is nowhere (among NaN).
template <class T>
HWY_INLINE int32_t first_place(const T* x, int64_t count, float value) {
  const V wanted = hn::Set(kF, value);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t n = std::min(kLanes, count - i);
    auto same = hn::Eq(load(x + i, n), wanted);
    if (n < kLanes) same = hn::And(same, hn::FirstN(kF, static_cast<size_t>(n)));
    const intptr_t place = hn::FindFirstTrue(kF, same);
    if (place >= 0) return static_cast<int32_t>(i + place);
  }
  return static_cast<int32_t>(count - 1);
}

template <class T>
HWY_INLINE float sum_of_exp(const T* x, int64_t count, float shift) {
  const V s = hn::Set(kF, shift);
  V total = hn::Zero(kF), other = hn::Zero(kF);
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    total = hn::Add(total, exp_of_small(hn::Sub(load(x + i), s)));
    other = hn::Add(other, exp_of_small(hn::Sub(load(x + i + kLanes), s)));
  }
  for (; i < count; i += kLanes) {
    const int64_t n = std::min(kLanes, count - i);
    const V e = exp_of_small(hn::Sub(load(x + i, n), s));
    total = hn::Add(
        total, n == kLanes ? e : hn::IfThenElseZero(hn::FirstN(kF, static_cast<size_t>(n)), e));
  }
  return sum(hn::Add(total, other));
}

void soften(const void* x, DType dtype, int64_t begin, int64_t end, int64_t columns, void* y) {
  with_type(dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    for (int64_t row = begin; row < end; ++row) {
      const T* from = static_cast<const T*>(x) + row * columns;
      T* to = static_cast<T*>(y) + row * columns;
      const float top = largest(from, columns);
      const V factor = hn::Set(kF, 1 / sum_of_exp(from, columns, top)), s = hn::Set(kF, top);
      each_vector(columns, [&](int64_t i, int64_t n) HWY_ATTR {
        store(hn::Mul(exp_of_small(hn::Sub(load(from + i, n), s)), factor), to + i, n);
      });
    }
  });
}

bool is_column(const CrossEntropyRows& x, int32_t label) { return label >= 0 && label < x.columns; }

template <class T>
HWY_INLINE void row_loss(const CrossEntropyRows& x, int64_t row, float* loss, float* lse,
                         int32_t* argmax) {
  const T* logits = static_cast<const T*>(x.logits) + row * x.columns;
  const float top = largest(logits, x.columns);
  lse[row] = top + std::log(sum_of_exp(logits, x.columns, top));
  argmax[row] = first_place(logits, x.columns, top);
  loss[row] = lse[row];
  if (is_column(x, x.label[row])) {
    loss[row] -= hn::GetLane(load_first(logits + x.label[row], 1));
  }
}

// Each slope is written where its logit was read, or elsewhere.
template <class T, class D>
HWY_INLINE void row_slope(const CrossEntropyRows& x, int64_t row, float lse, float dloss, D* to) {
  const T* logits = static_cast<const T*>(x.logits) + row * x.columns;
  const V factor = hn::Set(kF, dloss), shift = hn::Set(kF, lse);
  const bool labelled = is_column(x, x.label[row]);
  const V of_label = labelled ? load_first(logits + x.label[row], 1) : shift;
  const V slope =
      hn::Mul(hn::Sub(exp_of_small(hn::Sub(of_label, shift)), hn::Set(kF, 1.0F)), factor);
  each_vector(x.columns, [&](int64_t i, int64_t n) HWY_ATTR {
    store(hn::Mul(exp_of_small(hn::Sub(load(logits + i, n), shift)), factor), to + i, n);
  });
  if (labelled) store_first(slope, to + x.label[row], 1);
}

void losses(const CrossEntropyRows& x, int64_t begin, int64_t end, float* loss, float* lse,
            int32_t* argmax) {
  with_type(x.dtype, [&](auto type) HWY_ATTR {
    for (int64_t row = begin; row < end; ++row) {
      row_loss<decltype(type)>(x, row, loss, lse, argmax);
    }
  });
}

void slopes(const CrossEntropyRows& x, int64_t begin, int64_t end, const float* lse,
            const float* dloss, void* dlogits) {
  with_type(x.dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    for (int64_t row = begin; row < end; ++row) {
      row_slope<T>(x, row, lse[row], dloss[row], static_cast<T*>(dlogits) + row * x.columns);
    }
  });
}

// The slopes of a row while it is still in the cache.
void losses_and_slopes(const CrossEntropyRows& x, int64_t begin, int64_t end,
                       const CrossEntropyResults& to) {
  with_type(x.dtype, [&](auto type) HWY_ATTR {
    with_type(to.dlogits_dtype, [&](auto d_type) HWY_ATTR {
      using D = decltype(d_type);
      for (int64_t row = begin; row < end; ++row) {
        row_loss<decltype(type)>(x, row, to.loss, to.lse, to.argmax);
        row_slope<decltype(type)>(x, row, to.lse[row], to.dloss[row],
                                  static_cast<D*>(to.dlogits) + row * x.columns);
      }
    });
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace bertrain
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bertrain {
HWY_EXPORT(soften);
HWY_EXPORT(losses);
HWY_EXPORT(slopes);
HWY_EXPORT(losses_and_slopes);

namespace {
int64_t rows_of(int64_t columns) { return std::max(int64_t{1}, 8192 / (columns + 1)); }
}  // namespace

void softmax_rows(const void* x, DType dtype, int64_t rows, int64_t columns, void* y) {
  if (columns == 0) return;
  parallel_chunks(rows, rows_of(columns), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(soften)(x, dtype, begin, end, columns, y);
  });
}

void cross_entropy(const CrossEntropyRows& x, float* loss, float* lse, int32_t* argmax) {
  parallel_chunks(x.rows, rows_of(x.columns), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(losses)(x, begin, end, loss, lse, argmax);
  });
}

void cross_entropy_grad(const CrossEntropyRows& x, const float* lse, const float* dloss,
                        void* dlogits) {
  parallel_chunks(x.rows, rows_of(x.columns), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(slopes)(x, begin, end, lse, dloss, dlogits);
  });
}

void cross_entropy_with_grad(const CrossEntropyRows& x, const CrossEntropyResults& to) {
  parallel_chunks(x.rows, rows_of(x.columns), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(losses_and_slopes)(x, begin, end, to);
  });
}

}  // namespace bertrain
#endif
