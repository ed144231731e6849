// The f32 register tiles and packing of the matrix product, compiled for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/gemm_f32.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include <algorithm>

#include "backend/cpu/kernels/gemm_kernel.h"
#include "backend/cpu/kernels/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bertrain {
namespace HWY_NAMESPACE {
namespace {

// Two vectors of columns, and as many rows as leave registers for B and A: 24 of 32, or 12 of 16. For ARM, compilers
// load the A of all rows before the products, which takes one more register a row: 16 of 32.
constexpr int kRows = kLanes >= 16 ? 12 : HWY_ARCH_ARM_A64 ? 8 : 6;
constexpr int64_t kColumns = 2 * kLanes;

// Any tile but the plain one: part of the columns, bf16, a sum that begins with what is there.
template <int R>
HWY_NOINLINE void store_special(const GemmTiles& t, const V (&sum)[R][2], int64_t row) {
  for (int i = 0; i < R; ++i) {
    V s0 = sum[i][0], s1 = sum[i][1];
    const int64_t at = (row + i) * t.c_stride;
    const int64_t n0 = std::min(t.columns, kLanes), n1 = t.columns - n0;
    if (t.c_bf16) {
      uint16_t* c = static_cast<uint16_t*>(t.c) + at;
      store(s0, c, n0);
      if (n1 > 0) store(s1, c + kLanes, n1);
      continue;
    }
    float* c = static_cast<float*>(t.c) + at;
    if (t.accumulate) s0 = hn::Add(load(c, n0), s0);
    store(s0, c, n0);
    if (n1 == 0) continue;
    if (t.accumulate) s1 = hn::Add(load(c + kLanes, n1), s1);
    store(s1, c + kLanes, n1);
  }
}

template <int R>
HWY_INLINE void store_tile(const GemmTiles& t, V (&sum)[R][2], int64_t row) {
  if (t.bias != nullptr) {
    const V bias0 = load(t.bias), bias1 = load(t.bias + kLanes);
#pragma GCC unroll 12
    for (int i = 0; i < R; ++i) {
      sum[i][0] = hn::Add(sum[i][0], bias0), sum[i][1] = hn::Add(sum[i][1], bias1);
    }
  }
  if (t.columns < kColumns || t.c_bf16 || t.accumulate) return store_special<R>(t, sum, row);
  float* c = static_cast<float*>(t.c) + row * t.c_stride;
#pragma GCC unroll 12
  for (int i = 0; i < R; ++i, c += t.c_stride) {
    store(sum[i][0], c), store(sum[i][1], c + kLanes);
  }
}

// R rows of C: for each step, R broadcasts of A times two vectors of B.
template <int R, bool kStepMajor>
HWY_NOINLINE void tile(const GemmTiles& t, const float* HWY_RESTRICT a, int64_t row) {
  V sum[R][2];
#pragma GCC unroll 12
  for (int i = 0; i < R; ++i) sum[i][0] = sum[i][1] = hn::Zero(kF);
  // The tile of C is written at the end; its lines travel while the sums are made.
  const int64_t size = t.c_bf16 ? sizeof(uint16_t) : sizeof(float);
  const char* c = static_cast<const char*>(t.c) + row * t.c_stride * size;
  for (int i = 0; i < R; ++i, c += t.c_stride * size) {
    __builtin_prefetch(c, 1), __builtin_prefetch(c + (kColumns - 1) * size, 1);
  }
  const float* HWY_RESTRICT b = t.b;
  const int64_t stride = t.a_stride;
  // Rows are reached from every third one, so that few registers hold addresses.
  const float* base[(R + 2) / 3];
  for (int i = 0; i < R; i += 3) base[i / 3] = a + (kStepMajor ? i : i * stride);
  for (int64_t step = 0; step < t.steps; ++step) {
    const V b0 = load(b), b1 = load(b + kLanes);
    b += kColumns;
#pragma GCC unroll 12
    for (int i = 0; i < R; ++i) {
      const V x = hn::Set(kF, kStepMajor ? a[i] : base[i / 3][(i % 3) * stride]);
      sum[i][0] = hn::MulAdd(x, b0, sum[i][0]);
      sum[i][1] = hn::MulAdd(x, b1, sum[i][1]);
    }
    if (kStepMajor) {
      a += stride;
    } else {
#pragma GCC unroll 4
      for (auto& p : base) ++p;
    }
  }
  // Of an array whose address leaves the function, GCC for ARM keeps a copy in memory at every step.
  V result[R][2];
#pragma GCC unroll 12
  for (int i = 0; i < R; ++i) result[i][0] = sum[i][0], result[i][1] = sum[i][1];
  store_tile<R>(t, result, row);
}

template <bool kStepMajor>
void run_tiles(const GemmTiles& t) {
  const float* a = t.a;
  int64_t row = 0;
  for (; row + kRows <= t.rows; row += kRows, a += t.a_panel) tile<kRows, kStepMajor>(t, a, row);
  // What is left over, in the largest tiles that fit.
  const int64_t next = kStepMajor ? 1 : t.a_stride;
  auto rest = [&](auto rows) {
    constexpr int kR = decltype(rows)::value;
    if (t.rows - row < kR) return;
    tile<kR, kStepMajor>(t, a, row);
    row += kR, a += kR * next;
  };
  if constexpr (kRows > 8) rest(std::integral_constant<int, 8>());
  rest(std::integral_constant<int, 4>());
  rest(std::integral_constant<int, 2>());
  rest(std::integral_constant<int, 1>());
}

void tiles(const GemmTiles& t) { t.a_step_major ? run_tiles<true>(t) : run_tiles<false>(t); }

template <class T>
HWY_INLINE void copy(const T* from, int64_t count, float* to) {
  each_vector(count, [&](int64_t i, int64_t n) { store(load(from + i, n), to + i, n); });
}

template <class T>
void rows_of(const T* source, int64_t source_stride, int64_t count, int64_t depth, float* to,
             int64_t stride) {
  for (int64_t i = 0; i < count; ++i) copy(source + i * source_stride, depth, to + i * stride);
}

// One row of a strip. It may spill over what comes after it, because rows are written in order; the
// last one (`last`) may not.
template <class T>
HWY_INLINE void strip_row(const T* from, int64_t count, int64_t width, bool last, float* to) {
  for (int64_t i = 0; i < width; i += kLanes) {
    const V v = i < count ? load(from + i, std::min(kLanes, count - i)) : hn::Zero(kF);
    store(v, to + i, last ? std::min(kLanes, width - i) : kLanes);
  }
}

template <class T>
void strips_of(const T* source, int64_t source_stride, int64_t depth, int64_t count, int64_t width,
               float* to, int64_t strip) {
  constexpr int64_t kBlock = 16;  // rows that stay in the first cache from strip to strip
  for (int64_t k0 = 0; k0 < depth; k0 += kBlock) {
    const int64_t k1 = std::min(k0 + kBlock, depth);
    for (int64_t j = 0; j < count; j += width) {
      const int64_t n = std::min(width, count - j);
      float* at = to + j / width * strip;
      for (int64_t k = k0; k < k1; ++k) {
        strip_row(source + k * source_stride + j, n, width, k + 1 == depth, at + k * width);
      }
    }
  }
}

#if HWY_TARGET != HWY_SCALAR
// Blocks of 4 × 4 are turned in registers of 128 bits, whatever the vector length.
HWY_INLINE void turn(const float* from, int64_t stride, float* to, int64_t width) {
  const hn::CappedTag<float, 4> d;
  const hn::Repartition<uint64_t, decltype(d)> d64;
  const auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + stride);
  const auto r2 = hn::LoadU(d, from + 2 * stride), r3 = hn::LoadU(d, from + 3 * stride);
  const auto l01 = hn::BitCast(d64, hn::InterleaveLower(d, r0, r1));
  const auto l23 = hn::BitCast(d64, hn::InterleaveLower(d, r2, r3));
  const auto u01 = hn::BitCast(d64, hn::InterleaveUpper(d, r0, r1));
  const auto u23 = hn::BitCast(d64, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, l01, l23)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, l01, l23)), d, to + width);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, u01, u23)), d, to + 2 * width);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, u01, u23)), d, to + 3 * width);
}
#else
HWY_INLINE void turn(const float* from, int64_t stride, float* to, int64_t width) {
  for (int64_t k = 0; k < 4; ++k) {
    for (int64_t i = 0; i < 4; ++i) to[k * width + i] = from[i * stride + k];
  }
}
#endif

HWY_INLINE float value(float x) { return x; }
HWY_INLINE float value(uint16_t x) { return bf16_to_f32(x); }

template <class T>
void transposed_of(const T* source, int64_t source_stride, int64_t depth, int64_t count,
                   int64_t width, float* to) {
  int64_t j = 0;
  if constexpr (sizeof(T) == sizeof(float)) {
    for (; j + 4 <= count; j += 4) {
      const T* from = source + j * source_stride;
      int64_t k = 0;
      for (; k + 4 <= depth; k += 4) turn(from + k, source_stride, to + k * width + j, width);
      for (; k < depth; ++k) {
        for (int64_t i = 0; i < 4; ++i) to[k * width + j + i] = from[i * source_stride + k];
      }
    }
  }
  for (; j < count; ++j) {
    for (int64_t k = 0; k < depth; ++k) to[k * width + j] = value(source[j * source_stride + k]);
  }
  for (; j < width; ++j) {
    for (int64_t k = 0; k < depth; ++k) to[k * width + j] = 0;
  }
}

// f(source as its own type)
template <class F>
HWY_INLINE void typed(const void* source, DType dtype, const F& f) {
  dtype == DType::f32 ? f(static_cast<const float*>(source))
                      : f(static_cast<const uint16_t*>(source));
}

void pack_rows(const void* source, DType dtype, int64_t source_stride, int64_t count, int64_t depth,
               float* to, int64_t stride) {
  typed(source, dtype, [&](auto* s) { rows_of(s, source_stride, count, depth, to, stride); });
}
void pack_strips(const void* source, DType dtype, int64_t source_stride, int64_t depth,
                 int64_t count, int64_t width, float* to, int64_t strip) {
  typed(source, dtype,
        [&](auto* s) { strips_of(s, source_stride, depth, count, width, to, strip); });
}
void pack_transposed(const void* source, DType dtype, int64_t source_stride, int64_t depth,
                     int64_t count, int64_t width, float* to) {
  typed(source, dtype, [&](auto* s) { transposed_of(s, source_stride, depth, count, width, to); });
}

const GemmKernel* kernel() {
  static const GemmKernel table{kRows, kColumns, 1, pack_rows, pack_strips, pack_transposed, tiles};
  return &table;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace bertrain
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bertrain {
HWY_EXPORT(kernel);

const GemmKernel& gemm_kernel_f32() { return *HWY_DYNAMIC_DISPATCH(kernel)(); }

}  // namespace bertrain
#endif
