// Threefry-2x32-20 on vectors of counters, and the dropout decisions made from its bits; included once per
// instruction set. Equal to threefry() of base/rng.h to the bit.
#if defined(BERTRAIN_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTRAIN_DROPOUT_INL_H_
#undef BERTRAIN_DROPOUT_INL_H_
#else
#define BERTRAIN_DROPOUT_INL_H_
#endif

#include "backend/cpu/kernels/dropout.h"
#include "backend/cpu/kernels/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bertrain {
namespace HWY_NAMESPACE {

template <int kRotation>
HWY_INLINE void mix(VU& x0, VU& x1) {
  x0 = hn::Add(x0, x1);
  x1 = hn::Xor(hn::Or(hn::ShiftLeft<kRotation>(x1), hn::ShiftRight<32 - kRotation>(x1)), x0);
}

HWY_INLINE void threefry(uint32_t k0, uint32_t k1, VU& x0, VU& x1) {
  const VU k[3] = {hn::Set(kU, k0), hn::Set(kU, k1), hn::Set(kU, 0x1BD11BDAu ^ k0 ^ k1)};
  x0 = hn::Add(x0, k[0]), x1 = hn::Add(x1, k[1]);
  const auto inject = [&](VU a, VU b, uint32_t s) HWY_ATTR {
    x0 = hn::Add(x0, a), x1 = hn::Add(x1, hn::Add(b, hn::Set(kU, s)));
  };
  mix<13>(x0, x1), mix<15>(x0, x1), mix<26>(x0, x1), mix<6>(x0, x1);
  inject(k[1], k[2], 1);
  mix<17>(x0, x1), mix<29>(x0, x1), mix<16>(x0, x1), mix<24>(x0, x1);
  inject(k[2], k[0], 2);
  mix<13>(x0, x1), mix<15>(x0, x1), mix<26>(x0, x1), mix<6>(x0, x1);
  inject(k[0], k[1], 3);
  mix<17>(x0, x1), mix<29>(x0, x1), mix<16>(x0, x1), mix<24>(x0, x1);
  inject(k[1], k[2], 4);
  mix<13>(x0, x1), mix<15>(x0, x1), mix<26>(x0, x1), mix<6>(x0, x1);
  inject(k[2], k[0], 5);
}

constexpr int64_t kDrawn = 4 * kLanes;  // decisions of one vector of counters

// The 16-bit lanes of counters {c0, c1}, {c0, c1 + 1}, …: kDrawn of them, in the order of the elements.
HWY_INLINE void draw(const DropoutSource& s, uint32_t c0, uint32_t c1, uint16_t* HWY_RESTRICT to) {
  VU low = hn::Set(kU, c0), high = hn::Iota(kU, c1);
  threefry(s.key[0], s.key[1], low, high);
#if HWY_TARGET == HWY_SCALAR
  hn::StoreU(low, kU, reinterpret_cast<uint32_t*>(to));
  hn::StoreU(high, kU, reinterpret_cast<uint32_t*>(to) + 1);
#else
  hn::StoreInterleaved2(low, high, kU, reinterpret_cast<uint32_t*>(to));
#endif
}

// The factor of kLanes elements: `scale` where the bits say kept, else 0.
HWY_INLINE V kept(const uint16_t* bits, VU threshold, V scale) {
  const hn::Rebind<uint16_t, F32> d16;
  const VU drawn = hn::PromoteTo(kU, hn::LoadU(d16, bits));
  return hn::IfThenZeroElse(hn::RebindMask(kF, hn::Lt(drawn, threshold)), scale);
}

}  // namespace HWY_NAMESPACE
}  // namespace bertrain
HWY_AFTER_NAMESPACE();

#endif
