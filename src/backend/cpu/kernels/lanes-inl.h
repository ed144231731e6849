// Loads and stores of f32 vectors from f32 or bf16 memory, whole or partial; included once per
// instruction set, inside kernels only.
#if defined(BERTRAIN_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTRAIN_LANES_INL_H_
#undef BERTRAIN_LANES_INL_H_
#else
#define BERTRAIN_LANES_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "base/array.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bertrain {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using U32 = hn::RebindToUnsigned<F32>;
using I32 = hn::RebindToSigned<F32>;
using V = hn::Vec<F32>;
using VU = hn::Vec<U32>;
constexpr F32 kF;
constexpr U32 kU;
constexpr I32 kI;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(F32()));

HWY_INLINE V load(const float* p) { return hn::LoadU(kF, p); }
HWY_INLINE V load(const uint16_t* p) {  // bf16 bits
  const hn::Rebind<uint16_t, F32> d16;
  return hn::BitCast(kF, hn::ShiftLeft<16>(hn::PromoteTo(kU, hn::LoadU(d16, p))));
}
HWY_INLINE void store(V v, float* p) { hn::StoreU(v, kF, p); }
// Rounds to nearest even, as f32_to_bf16; NaN stays NaN.
HWY_INLINE void store(V v, uint16_t* p) {
  const hn::Rebind<uint16_t, F32> d16;
  const VU bits = hn::BitCast(kU, v);
  const VU even = hn::And(hn::ShiftRight<16>(bits), hn::Set(kU, 1u));
  VU top = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(kU, 0x7fffu)), even));
  const VU quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(kU, 0x40u));
  top = hn::IfThenElse(hn::RebindMask(kU, hn::IsNaN(v)), quiet, top);
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(kI, top)), d16, p);
}

// Whether a masked load or store leaves alone what it does not want, even where memory ends.
constexpr bool kMasksMemory = HWY_ARCH_X86 && kLanes >= 8;

// The first n < lanes elements; the others are zero, and nothing beyond them is touched.
template <class T>
HWY_INLINE V load_first(const T* p, int64_t n) {
  if constexpr (kMasksMemory && sizeof(T) == sizeof(float)) {
    return hn::MaskedLoad(hn::FirstN(kF, static_cast<size_t>(n)), kF, p);
  }
  HWY_ALIGN T lanes[kLanes] = {};
  std::memcpy(lanes, p, static_cast<size_t>(n) * sizeof(T));
  return load(lanes);
}
template <class T>
HWY_INLINE void store_first(V v, T* p, int64_t n) {
  if constexpr (kMasksMemory && sizeof(T) == sizeof(float)) {
    hn::BlendedStore(v, hn::FirstN(kF, static_cast<size_t>(n)), kF, p);
    return;
  }
  HWY_ALIGN T lanes[kLanes];
  store(v, lanes);
  std::memcpy(p, lanes, static_cast<size_t>(n) * sizeof(T));
}

// f(i, n) for n = lanes at each whole vector of 0 … count − 1, then once for the rest.
template <class F>
HWY_INLINE void each_vector(int64_t count, const F& f) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) f(i, kLanes);
  if (i < count) f(i, count - i);
}
template <class T>
HWY_INLINE V load(const T* p, int64_t n) {
  return kLanes == 1 || HWY_LIKELY(n == kLanes) ? load(p) : load_first(p, n);
}
template <class T>
HWY_INLINE void store(V v, T* p, int64_t n) {
  if (kLanes == 1 || HWY_LIKELY(n == kLanes)) {
    store(v, p);
  } else {
    store_first(v, p, n);
  }
}

// f(T()) with the type of the elements in memory: float, or uint16_t holding bf16.
template <class F>
HWY_INLINE void with_type(DType dtype, const F& f) {
  dtype == DType::f32 ? f(float{}) : f(uint16_t{});
}

HWY_INLINE float sum(V v) { return hn::GetLane(hn::SumOfLanes(kF, v)); }

}  // namespace HWY_NAMESPACE
}  // namespace bertrain
HWY_AFTER_NAMESPACE();

#endif
