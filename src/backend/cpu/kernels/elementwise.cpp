// Element-wise functions, with their gradients where a kernel pays.
#include "backend/cpu/kernels/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/elementwise.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/kernels/vector_math-inl.h"
#include "base/error.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bertrain {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE V number(float x) { return hn::Set(kF, x); }

constexpr float kRootTwoOverPi = 0.797884561F;
constexpr float kCubic = 0.044715F;

// (1 + tanh u) / 2 = 1 / (1 + e^(−2u)),  u = √(2/π) (x + 0.044715 x³)
HWY_INLINE V gelu_gate(V x) {
  const V inner =
      hn::MulAdd(hn::Mul(x, x), number(-2 * kRootTwoOverPi * kCubic), number(-2 * kRootTwoOverPi));
  return hn::Div(number(1), hn::Add(number(1), exp(hn::Mul(x, inner))));
}

// dy/dx = g + x g (1 − g) 2 u',  g = (1 + tanh u) / 2,  u' = √(2/π) (1 + 3 · 0.044715 x²)
HWY_INLINE V gelu_slope(V x) {
  const V g = gelu_gate(x);
  const V slope =
      hn::MulAdd(hn::Mul(x, x), number(6 * kRootTwoOverPi * kCubic), number(2 * kRootTwoOverPi));
  return hn::MulAdd(hn::Mul(hn::Mul(x, g), hn::Sub(number(1), g)), slope, g);
}

// Φ(x) = (1 + erf(x / √2)) / 2
HWY_INLINE V normal_cdf(V x) {
  return hn::MulAdd(erf(hn::Mul(x, number(0.707106781F))), number(0.5F), number(0.5F));
}

// d (x Φ(x)) / dx = Φ(x) + x e^(−x²/2) / √(2π)
HWY_INLINE V gelu_erf_slope(V x) {
  const V density = hn::Mul(exp(hn::Mul(hn::Mul(x, x), number(-0.5F))), number(0.398942280F));
  return hn::MulAdd(x, density, normal_cdf(x));
}

template <class F>
HWY_INLINE void unary_loop(ArrayRef x, void* y, DType y_dtype, int64_t begin, int64_t end,
                           const F& f) {
  with_type(x.dtype, [&](auto x_type) HWY_ATTR {
    with_type(y_dtype, [&](auto y_type) HWY_ATTR {
      const auto* from = static_cast<const decltype(x_type)*>(x.data) + begin;
      auto* to = static_cast<decltype(y_type)*>(y) + begin;
      each_vector(end - begin,
                  [&](int64_t i, int64_t n) HWY_ATTR { store(f(load(from + i, n)), to + i, n); });
    });
  });
}

void unary(Unary op, ArrayRef x, void* y, DType y_dtype, int64_t begin, int64_t end) {
  const auto run = [&](const auto& f) HWY_ATTR { unary_loop(x, y, y_dtype, begin, end, f); };
  switch (op) {
    case Unary::convert:
      return run([](V v) HWY_ATTR { return v; });
    case Unary::negate:
      return run([](V v) HWY_ATTR { return hn::Neg(v); });
    case Unary::exp:
      return run([](V v) HWY_ATTR { return exp(v); });
    case Unary::sqrt:
      return run([](V v) HWY_ATTR { return hn::Sqrt(v); });
    case Unary::rsqrt:
      return run([](V v) HWY_ATTR { return hn::Div(number(1), hn::Sqrt(v)); });
    case Unary::tanh:
      return run([](V v) HWY_ATTR { return tanh(v); });
    case Unary::erf:
      return run([](V v) HWY_ATTR { return erf(v); });
    case Unary::relu:  // keeps NaN
      return run([](V v) HWY_ATTR { return hn::IfThenZeroElse(hn::Lt(v, hn::Zero(kF)), v); });
    case Unary::gelu:
      return run([](V v) HWY_ATTR { return hn::Mul(v, gelu_gate(v)); });
    case Unary::gelu_erf:
      return run([](V v) HWY_ATTR { return hn::Mul(v, normal_cdf(v)); });
  }
}

template <class F>
HWY_INLINE void binary_loop(const void* a, const void* b, void* y, DType dtype, int64_t begin,
                            int64_t end, const F& f) {
  with_type(dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    const T* x0 = static_cast<const T*>(a) + begin;
    const T* x1 = static_cast<const T*>(b) + begin;
    T* to = static_cast<T*>(y) + begin;
    each_vector(end - begin, [&](int64_t i, int64_t n) HWY_ATTR {
      store(f(load(x0 + i, n), load(x1 + i, n)), to + i, n);
    });
  });
}

void binary(Binary op, const void* a, const void* b, void* y, DType dtype, int64_t begin,
            int64_t end) {
  const auto run = [&](const auto& f) HWY_ATTR { binary_loop(a, b, y, dtype, begin, end, f); };
  switch (op) {
    case Binary::add:
      return run([](V p, V q) HWY_ATTR { return hn::Add(p, q); });
    case Binary::subtract:
      return run([](V p, V q) HWY_ATTR { return hn::Sub(p, q); });
    case Binary::multiply:
      return run([](V p, V q) HWY_ATTR { return hn::Mul(p, q); });
    case Binary::divide:
      return run([](V p, V q) HWY_ATTR { return hn::Div(p, q); });
    case Binary::maximum:  // NaN if either is
      return run([](V p, V q) HWY_ATTR {
        return hn::IfThenElse(hn::IsNaN(p), p, hn::IfThenElse(hn::Gt(p, q), p, q));
      });
    case Binary::gelu_grad:
      return run([](V x, V dy) HWY_ATTR { return hn::Mul(dy, gelu_slope(x)); });
    case Binary::gelu_erf_grad:
      return run([](V x, V dy) HWY_ATTR { return hn::Mul(dy, gelu_erf_slope(x)); });
  }
}

void affine(const void* x, float factor, float term, void* y, DType dtype, int64_t begin,
            int64_t end) {
  const V f = number(factor), t = number(term);
  unary_loop({x, dtype}, y, dtype, begin, end, [&](V v) HWY_ATTR { return hn::MulAdd(v, f, t); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace bertrain
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bertrain {
HWY_EXPORT(unary);
HWY_EXPORT(binary);
HWY_EXPORT(affine);

namespace {
constexpr int64_t kChunk = 16384;
}

void map(Unary op, ArrayRef x, void* y, DType y_dtype, int64_t count) {
  parallel_chunks(count, kChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(unary)(op, x, y, y_dtype, begin, end);
  });
}

void convert_here(ArrayRef x, void* y, DType y_dtype, int64_t count) {
  HWY_DYNAMIC_DISPATCH(unary)(Unary::convert, x, y, y_dtype, 0, count);
}

void map(Binary op, const void* a, const void* b, void* y, DType dtype, int64_t count) {
  parallel_chunks(count, kChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(binary)(op, a, b, y, dtype, begin, end);
  });
}

void scale_and_shift(const void* x, float factor, float term, void* y, DType dtype, int64_t count) {
  parallel_chunks(count, kChunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(affine)(x, factor, term, y, dtype, begin, end);
  });
}

}  // namespace bertrain
#endif
