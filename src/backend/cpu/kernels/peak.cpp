// A burst of fused multiply-adds on registers, in every thread.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/peak.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include <chrono>

#include "backend/cpu/kernels/lanes-inl.h"
#include "backend/cpu/kernels/peak.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bertrain {
namespace HWY_NAMESPACE {
namespace {

// Enough to hide the latency of a product: x86 starts two at a time and needs 5 cycles for each, ARM up to four of 4.
constexpr int kChains = HWY_ARCH_ARM_A64 ? 20 : 12;

// Returns the number of operations done and leaves the result in `sink`.
double burst(int64_t rounds, float* sink) {
  V x[kChains];
  const V factor = hn::Set(kF, 0.999F), term = hn::Set(kF, 0.001F);
#pragma GCC unroll 20
  for (int i = 0; i < kChains; ++i)
    x[i] = hn::Set(kF, 0.01F * static_cast<float>(i));  // different, or they are merged
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 20
    for (auto& chain : x) chain = hn::MulAdd(factor, term, chain);
  }
  V total = term;
#pragma GCC unroll 20
  for (auto& chain : x) total = hn::Add(total, chain);
  *sink = sum(total);
  return 2.0 * kChains * static_cast<double>(kLanes) * static_cast<double>(rounds);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace bertrain
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bertrain {
HWY_EXPORT(burst);

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double fma_burst(double seconds) {
  double done = 0, start = 0;
  // The first round only wakes the threads.
  for (int round = 0; round < 2 || wall_seconds() - start < seconds; ++round) {
    if (round == 1) done = 0, start = wall_seconds();
#pragma omp parallel reduction(+ : done)
    {
      float sink = 0;
      done += HWY_DYNAMIC_DISPATCH(burst)(50000, &sink);
      if (sink < 0) done = 0;  // never; keeps the products alive
    }
  }
  return done / (wall_seconds() - start);
}

}  // namespace bertrain
#endif
