// exp, tanh and erf of f32 vectors, within 2 units in the last place; included once per instruction set.
//
// The coefficients are Chebyshev interpolations in double precision over the intervals named beside them.
#if defined(BERTRAIN_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTRAIN_VECTOR_MATH_INL_H_
#undef BERTRAIN_VECTOR_MATH_INL_H_
#else
#define BERTRAIN_VECTOR_MATH_INL_H_
#endif

#include "backend/cpu/kernels/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bertrain {
namespace HWY_NAMESPACE {

// ((c[n-1] x + c[n-2]) x + …) x + c[0]
template <int N>
HWY_INLINE V polynomial(V x, const float (&c)[N]) {
  V y = hn::Set(kF, c[N - 1]);
  for (int i = N - 2; i >= 0; --i) y = hn::MulAdd(y, x, hn::Set(kF, c[i]));
  return y;
}

// x = n ln 2 + r with |r| ≤ ln 2 / 2; returns e^r − 1.
HWY_INLINE V expm1_reduced(V x, V& n) {
  n = hn::Round(hn::Mul(x, hn::Set(kF, 1.44269504F)));
  // ln 2 in two parts, the first short enough that its products with n are exact.
  V r = hn::NegMulAdd(n, hn::Set(kF, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(kF, -2.12194440e-4F), r);
  constexpr float kQ[] = {0.5F, 0.166665767F, 0.0416665542F, 0.00836323288F, 0.00139262508F};
  return hn::MulAdd(hn::Mul(r, r), polynomial(r, kQ), r);
}

// 2^n for whole −126 ≤ n ≤ 127
HWY_INLINE V power_of_two(V n) {
  return hn::BitCast(kF, hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(kI, n), hn::Set(kI, 127))));
}

// e^x: 0 below −87.3, infinity above 88.7, NaN of NaN.
HWY_INLINE V exp(V x) {
  V n;
  // A NaN fails both comparisons and stays.
  V in = hn::IfThenElse(hn::Gt(x, hn::Set(kF, 89.0F)), hn::Set(kF, 89.0F), x);
  in = hn::IfThenElse(hn::Lt(x, hn::Set(kF, -87.3F)), hn::Set(kF, -87.3F), in);
  const V m = expm1_reduced(in, n);
  // In two halves, because 2^128 itself is not a number although e^88.7 is.
  const V half = hn::Floor(hn::Mul(n, hn::Set(kF, 0.5F)));
  const V y = hn::Mul(hn::Add(m, hn::Set(kF, 1.0F)), power_of_two(half));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(kF, -87.3F)),
                            hn::Mul(y, power_of_two(hn::Sub(n, half))));
}

// e^x for x ≤ 88, as softmax needs it: 0 below −87.3, NaN of NaN.
HWY_INLINE V exp_of_small(V x) {
  const auto too_low = hn::Lt(x, hn::Set(kF, -87.3F));
  V n;
  const V m = expm1_reduced(x, n);
  return hn::IfThenZeroElse(too_low, hn::Mul(hn::Add(m, hn::Set(kF, 1.0F)), power_of_two(n)));
}

// tanh |x| = −t / (2 + t) with t = e^(−2|x|) − 1, which keeps small values exact.
HWY_INLINE V tanh(V x) {
  const V a = hn::Abs(x);
  V y = hn::Mul(a, hn::Set(kF, -2.0F));
  y = hn::IfThenElse(hn::Lt(y, hn::Set(kF, -40.0F)), hn::Set(kF, -40.0F), y);
  V n;
  const V m = expm1_reduced(y, n);
  const V scale = power_of_two(n);
  const V t = hn::MulAdd(m, scale, hn::Sub(scale, hn::Set(kF, 1.0F)));
  return hn::CopySign(hn::Div(hn::Neg(t), hn::Add(t, hn::Set(kF, 2.0F))), x);
}

HWY_INLINE V erf(V x) {
  const V a = hn::Abs(x);
  const V s = hn::Mul(x, x);
  // erf(x) / x over x² in [0, 1]
  constexpr float kSmall[] = {1.12837917F,    -0.376126267F,   0.112835947F,  -0.0268542120F,
                              0.00518908742F, -8.01686428e-4F, 7.87587505e-5F};
  const V small = hn::Mul(x, polynomial(s, kSmall));
  // −log(1 − erf(a)) over [1, 4]; beyond 4 the result is 1.
  constexpr float kLarge[] = {-3.20138052e-4F, 1.13023343F,    0.631826052F,
                              0.110080083F,    -0.0264211360F, 0.00475959630F,
                              -5.96805626e-4F, 4.60580443e-5F, -1.63715141e-6F};
  const V four = hn::Set(kF, 4.0F);
  const V t = hn::IfThenElse(hn::Gt(a, four), four, a);
  const V large = hn::Sub(hn::Set(kF, 1.0F), exp(hn::Neg(polynomial(t, kLarge))));
  return hn::IfThenElse(hn::Lt(a, hn::Set(kF, 1.0F)), small, hn::CopySign(large, x));
}

}  // namespace HWY_NAMESPACE
}  // namespace bertrain
HWY_AFTER_NAMESPACE();

#endif
