// Softmax and dropout on blocks of attention scores, forward and backward.
#include "backend/cpu/kernels/attention_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/attention_rows.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include <cmath>
#include <limits>

#include "backend/cpu/kernels/dropout-inl.h"
#include "backend/cpu/kernels/vector_math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bertrain {
namespace HWY_NAMESPACE {
namespace {

int64_t bits_for(int64_t padded) { return padded + 3 + kDrawn; }

// The decisions of one query for all keys; returns where that of the first key is.
const uint16_t* draw_row(const ScoreBlock& b, int64_t query) {
  const uint32_t p = static_cast<uint32_t>(b.query_position[query]) << 14;
  if (b.adjacent) {
    const uint32_t first = static_cast<uint32_t>(b.key_position[0]);
    const int64_t skipped = first % 4;
    for (int64_t i = 0; i < b.padded + skipped; i += kDrawn) {
      draw(*b.dropout, b.counter, p | (first / 4 + static_cast<uint32_t>(i / 4)), b.bits + i);
    }
    return b.bits + skipped;
  }
  for (int64_t j = 0; j < b.keys; ++j) {
    const uint32_t position = static_cast<uint32_t>(b.key_position[j]);
    const Block words = bertrain::threefry(b.dropout->key, {b.counter, p | (position >> 2)});
    b.bits[j] = static_cast<uint16_t>(words[position % 4 / 2] >> (16 * (position % 2)));
  }
  return b.bits;
}

// f(j) at each vector of a row, all whole.
template <class F>
HWY_INLINE void each(const ScoreBlock& b, const F& f) {
  for (int64_t j = 0; j < b.padded; j += kLanes) f(j);
}

void forward(const ScoreBlock& b, float* lse) {
  const V scale = hn::Set(kF, b.scale);
  const float lowest = -std::numeric_limits<float>::infinity();
  for (int64_t query = 0; query < b.queries; ++query) {
    float* row = b.scores + query * b.stride;
    V best = hn::Set(kF, lowest);
    each(b, [&](int64_t j) HWY_ATTR {
      V x = hn::Mul(load(row + j), scale);
      if (b.bias != nullptr) x = hn::Add(x, load(b.bias + j));
      store(x, row + j);
      best = hn::Max(best, x);
    });
    float top = hn::GetLane(hn::MaxOfLanes(kF, best));
    if (top == lowest) top = 0;  // no key at all: every exponential is zero
    const V shift = hn::Set(kF, top);
    V total = hn::Zero(kF);
    each(b, [&](int64_t j) HWY_ATTR {
      const V e = exp_of_small(hn::Sub(load(row + j), shift));
      store(e, row + j);
      total = hn::Add(total, e);
    });
    const float all = sum(total);
    lse[query] = all == 0 ? 0 : top + std::log(all);
    const V factor = hn::Set(kF, all == 0 ? 0 : 1 / all);
    if (b.dropout == nullptr) {
      each(b, [&](int64_t j) HWY_ATTR { store(hn::Mul(load(row + j), factor), row + j); });
      continue;
    }
    const uint16_t* bits = draw_row(b, query);
    const VU threshold = hn::Set(kU, b.dropout->threshold);
    const V scaled = hn::Mul(factor, hn::Set(kF, b.dropout->scale));
    each(b, [&](int64_t j) HWY_ATTR {
      store(hn::Mul(load(row + j), kept(bits + j, threshold, scaled)), row + j);
    });
  }
}

void backward(const ScoreBlock& b, const float* lse, const float* d, float* dp) {
  const V scale = hn::Set(kF, b.scale);
  for (int64_t query = 0; query < b.queries; ++query) {
    float* row = b.scores + query * b.stride;
    float* slope = dp + query * b.stride;
    const V shift = hn::Set(kF, lse[query]), mean = hn::Set(kF, d[query]);
    const uint16_t* bits = b.dropout == nullptr ? nullptr : draw_row(b, query);
    const VU threshold = hn::Set(kU, bits == nullptr ? 0 : b.dropout->threshold);
    const V keep = hn::Set(kF, bits == nullptr ? 1 : b.dropout->scale);
    each(b, [&](int64_t j) HWY_ATTR {
      V x = hn::MulSub(load(row + j), scale, shift);
      if (b.bias != nullptr) x = hn::Add(x, load(b.bias + j));
      const V p = exp_of_small(x);
      const V factor = bits == nullptr ? keep : kept(bits + j, threshold, keep);
      const V ds = hn::Mul(p, hn::MulSub(load(slope + j), factor, mean));
      store(hn::Mul(p, factor), row + j);
      store(hn::Mul(ds, scale), slope + j);
    });
  }
}

void dots(const void* a, const void* b, DType dtype, int64_t rows, int64_t width, int64_t stride,
          float* d) {
  with_type(dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    for (int64_t row = 0; row < rows; ++row) {
      const T* x = static_cast<const T*>(a) + row * stride;
      const T* y = static_cast<const T*>(b) + row * stride;
      V total = hn::Zero(kF);
      each_vector(width, [&](int64_t i, int64_t n) HWY_ATTR {
        total = hn::MulAdd(load(x + i, n), load(y + i, n), total);
      });
      d[row] = sum(total);
    }
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace bertrain
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bertrain {
HWY_EXPORT(bits_for);
HWY_EXPORT(forward);
HWY_EXPORT(backward);
HWY_EXPORT(dots);

int64_t attention_bits(int64_t padded) { return HWY_DYNAMIC_DISPATCH(bits_for)(padded); }
void soften(const ScoreBlock& block, float* lse) { HWY_DYNAMIC_DISPATCH(forward)(block, lse); }
void soften_grad(const ScoreBlock& block, const float* lse, const float* d, float* dp) {
  HWY_DYNAMIC_DISPATCH(backward)(block, lse, d, dp);
}
void row_dots(const void* a, const void* b, DType dtype, int64_t rows, int64_t width,
              int64_t stride, float* d) {
  HWY_DYNAMIC_DISPATCH(dots)(a, b, dtype, rows, width, stride, d);
}

}  // namespace bertrain
#endif
