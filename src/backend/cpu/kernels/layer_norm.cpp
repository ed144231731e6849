// Layer normalization forward and backward, a row at a time while it is in the first cache.
#include "backend/cpu/kernels/layer_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/layer_norm.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels/dropout-inl.h"
#include "backend/cpu/kernels/huge_buffer.h"
#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/kernels/sums.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bertrain {
namespace HWY_NAMESPACE {
namespace {

// Σ f(i, n) over the vectors of a row. Four sums at a time, because one addition waits for the other.
template <class F>
HWY_INLINE float row_sum(int64_t width, const F& f) {
  V s0 = hn::Zero(kF), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * kLanes <= width; i += 4 * kLanes) {
    s0 = hn::Add(s0, f(i, kLanes)), s1 = hn::Add(s1, f(i + kLanes, kLanes));
    s2 = hn::Add(s2, f(i + 2 * kLanes, kLanes)), s3 = hn::Add(s3, f(i + 3 * kLanes, kLanes));
  }
  for (; i < width; i += kLanes) s0 = hn::Add(s0, f(i, std::min(kLanes, width - i)));
  return sum(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
}

// v where i < n, else 0: the lanes beyond a row must not count.
HWY_INLINE V first(V v, int64_t n) {
  return n == kLanes ? v : hn::IfThenElseZero(hn::FirstN(kF, static_cast<size_t>(n)), v);
}

// g(c, n, factor) for all columns of a row, with the dropout factor of each.
template <class G>
HWY_INLINE void each_kept(const RowDropout* dropout, int64_t row, int64_t width, const G& g) {
  if (dropout == nullptr) {
    const V one = hn::Set(kF, 1.0F);
    each_vector(width, [&](int64_t c, int64_t n) HWY_ATTR { g(c, n, one); });
    return;
  }
  HWY_ALIGN uint16_t bits[kDrawn];
  const VU threshold = hn::Set(kU, dropout->source.threshold);
  const V scale = hn::Set(kF, dropout->source.scale);
  const uint32_t c1 =
      static_cast<uint32_t>(dropout->position[row]) * static_cast<uint32_t>((width + 3) / 4);
  for (int64_t c = 0; c < width; c += kDrawn) {
    draw(dropout->source, dropout->number[row], c1 + static_cast<uint32_t>(c / 4), bits);
    each_vector(std::min(kDrawn, width - c), [&](int64_t i, int64_t n) HWY_ATTR {
      g(c + i, n, kept(bits + i, threshold, scale));
    });
  }
}

template <class T>
void forward_rows(const LayerNorm& a, int64_t begin, int64_t end) {
  const int64_t width = a.width;
  const float count = 1.0F / static_cast<float>(width);
  for (int64_t row = begin; row < end; ++row) {
    const T* z = static_cast<const T*>(a.x) + row * width;
    if (a.f != nullptr) {
      const T* f = static_cast<const T*>(a.f) + row * width;
      T* sum_to = static_cast<T*>(a.z) + row * width;
      each_kept(a.dropout, row, width, [&](int64_t c, int64_t n, V factor) HWY_ATTR {
        store(hn::MulAdd(load(f + c, n), factor, load(z + c, n)), sum_to + c, n);
      });
      z = sum_to;
    }
    T* y = static_cast<T*>(a.y) + row * width;
    const float mean =
        count * row_sum(width, [&](int64_t c, int64_t n) HWY_ATTR { return load(z + c, n); });
    const V mean_of = hn::Set(kF, mean);
    const float variance = count * row_sum(width, [&](int64_t c, int64_t n) HWY_ATTR {
                             const V d = first(hn::Sub(load(z + c, n), mean_of), n);
                             return hn::Mul(d, d);
                           });
    const float rstd = static_cast<float>(1 / std::sqrt(variance + a.epsilon));
    const V rstd_of = hn::Set(kF, rstd);
    each_vector(width, [&](int64_t c, int64_t n) HWY_ATTR {
      const V normal = hn::Mul(hn::Sub(load(z + c, n), mean_of), rstd_of);
      store(hn::MulAdd(normal, load(a.gamma + c, n), load(a.beta + c, n)), y + c, n);
    });
    a.mean[row] = mean, a.rstd[row] = rstd;
  }
}

// With ẑ = (z − mean) rstd and g = dy γ: dz = rstd (g − mean(g) − ẑ mean(g ẑ)), dγ = Σ dy ẑ, dβ = Σ dy.
template <class T>
void backward_rows(const LayerNormGrad& a, int64_t begin, int64_t end, float* dgamma,
                   float* dbeta) {
  const int64_t width = a.width;
  const float count = 1.0F / static_cast<float>(width);
  std::fill(dgamma, dgamma + width, 0.0F), std::fill(dbeta, dbeta + width, 0.0F);
  for (int64_t row = begin; row < end; ++row) {
    const T* z = static_cast<const T*>(a.z) + row * width;
    const T* dy = static_cast<const T*>(a.dy) + row * width;
    T* dx = static_cast<T*>(a.dx) + row * width;
    T* df = a.df == nullptr ? nullptr : static_cast<T*>(a.df) + row * width;
    const V rstd = hn::Set(kF, a.rstd[row]);
    const V shift = hn::Set(kF, -a.mean[row] * a.rstd[row]);  // ẑ = z rstd + shift
    V g_sum = hn::Zero(kF), gz_sum = hn::Zero(kF);
    each_vector(width, [&](int64_t c, int64_t n) HWY_ATTR {
      const V d = load(dy + c, n);
      const V normal = first(hn::MulAdd(load(z + c, n), rstd, shift), n);
      const V g = hn::Mul(d, load(a.gamma + c, n));
      g_sum = hn::Add(g_sum, g);
      gz_sum = hn::MulAdd(g, normal, gz_sum);
      store(hn::MulAdd(d, normal, load(dgamma + c, n)), dgamma + c, n);
      store(hn::Add(d, load(dbeta + c, n)), dbeta + c, n);
    });
    const V g_mean = hn::Set(kF, count * sum(g_sum)), gz_mean = hn::Set(kF, count * sum(gz_sum));
    const auto dz = [&](int64_t c, int64_t n) HWY_ATTR {
      const V normal = hn::MulAdd(load(z + c, n), rstd, shift);
      const V g = hn::Mul(load(dy + c, n), load(a.gamma + c, n));
      return hn::Mul(rstd, hn::NegMulAdd(normal, gz_mean, hn::Sub(g, g_mean)));
    };
    if (df == nullptr) {
      each_vector(width, [&](int64_t c, int64_t n) HWY_ATTR { store(dz(c, n), dx + c, n); });
    } else {
      each_kept(a.dropout, row, width, [&](int64_t c, int64_t n, V factor) HWY_ATTR {
        const V d = dz(c, n);
        store(d, dx + c, n);
        store(hn::Mul(d, factor), df + c, n);
      });
    }
  }
}

void forward(const LayerNorm& a, int64_t begin, int64_t end) {
  with_type(a.dtype, [&](auto t) HWY_ATTR { forward_rows<decltype(t)>(a, begin, end); });
}
void backward(const LayerNormGrad& a, int64_t begin, int64_t end, float* dgamma, float* dbeta) {
  with_type(a.dtype,
            [&](auto t) HWY_ATTR { backward_rows<decltype(t)>(a, begin, end, dgamma, dbeta); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace bertrain
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bertrain {
HWY_EXPORT(forward);
HWY_EXPORT(backward);

void layer_norm(const LayerNorm& n) {
  parallel_chunks(n.rows, 16, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(forward)(n, begin, end);
  });
}

void layer_norm_grad(const LayerNormGrad& n) {
  const int64_t chunk = sum_chunk(n.rows);
  const int64_t chunks = std::max(chunk_count(n.rows, chunk), int64_t{1});
  float* sums = scratch_of<float>(Scratch::rows, static_cast<size_t>(2 * chunks * n.width));
  float* others = sums + chunks * n.width;
  if (n.rows == 0) std::fill(sums, sums + 2 * n.width, 0.0F);
  parallel_chunks(n.rows, chunk, [&](int64_t begin, int64_t end) {
    const int64_t at = begin / chunk * n.width;
    HWY_DYNAMIC_DISPATCH(backward)(n, begin, end, sums + at, others + at);
  });
  add_chunks(sums, chunks, n.width, n.dgamma);
  add_chunks(others, chunks, n.width, n.dbeta);
}

}  // namespace bertrain
#endif
