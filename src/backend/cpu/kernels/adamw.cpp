// The AdamW update.
#include "backend/cpu/kernels/adamw.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/adamw.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include <cmath>

#include "backend/cpu/kernels/lanes-inl.h"
#include "backend/cpu/kernels/parallel.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bertrain {
namespace HWY_NAMESPACE {
namespace {

void update(const AdamWUpdate& u, int64_t begin, int64_t end) {
  const auto number = [](double x) HWY_ATTR { return hn::Set(kF, static_cast<float>(x)); };
  const V beta1 = number(u.beta1), beta2 = number(u.beta2);
  const V rest1 = number((1 - u.beta1)), rest2 = number(1 - u.beta2);
  const V rate = hn::Set(kF, u.rate), epsilon = hn::Set(kF, u.epsilon);
  const V decay = hn::Set(kF, u.decay), scale = hn::Set(kF, u.scale);
  each_vector(end - begin, [&](int64_t offset, int64_t n) HWY_ATTR {
    const int64_t i = begin + offset;
    const V g = hn::Mul(load(u.g + i, n), scale);
    const V m = hn::MulAdd(load(u.m + i, n), beta1, hn::Mul(rest1, g));
    const V v = hn::MulAdd(load(u.v + i, n), beta2, hn::Mul(rest2, hn::Mul(g, g)));
    const V w = load(u.w + i, n);
    const V step = hn::Div(m, hn::Add(hn::Sqrt(v), epsilon));
    store(hn::NegMulAdd(rate, step, hn::NegMulAdd(decay, w, w)), u.new_w + i, n);
    store(m, u.new_m + i, n);
    store(v, u.new_v + i, n);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace bertrain
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bertrain {
HWY_EXPORT(update);

void adamw(const AdamWUpdate& u) {
  const bool skip = std::isnan(u.scale);
  parallel_chunks(u.count, 16384, [&](int64_t begin, int64_t end) {
    if (!skip) return HWY_DYNAMIC_DISPATCH(update)(u, begin, end);
    const auto keep = [&](const float* from, float* to) {
      if (from != to) std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin) * 4);
    };
    keep(u.w, u.new_w), keep(u.m, u.new_m), keep(u.v, u.new_v);
  });
}

}  // namespace bertrain
#endif
