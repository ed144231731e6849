// The bf16 register tiles and packing of the matrix product by AVX-512 BF16, which Highway does not name: each unit
// is a pair of neighbours along K, and one instruction multiplies 32 of them into 16 sums.
#include "backend/cpu/kernels/gemm_kernel.h"
#include "backend/cpu/kernels/instruction_set.h"

#if defined(__x86_64__)
#if !defined(__clang__)
// GCC 12 takes the deliberately undefined vectors of its own header for mistakes.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <cstring>
#include <type_traits>

// The instructions of every function up to the matching pop.
#if defined(__clang__)
#pragma clang attribute push(                                                     \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma")
#endif

namespace bertrain {
namespace {

constexpr int kRows = 12;
constexpr int64_t kColumns = 32;

inline __m512 load16(const float* p) { return _mm512_loadu_ps(p); }
inline __mmask16 first(int64_t n) {
  return static_cast<__mmask16>(n >= 16 ? 0xffff : (1u << (n < 0 ? 0 : n)) - 1);
}

// 16 or fewer elements as bf16 bits, zeros after them.
inline __m256i bits_of(const uint16_t* p, __mmask16 mask) {
  return _mm256_maskz_loadu_epi16(mask, p);
}
inline __m256i bits_of(const float* p, __mmask16 mask) {
  return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, p)));
}

inline void store_row(const GemmTiles& t, int64_t row, __m512 s0, __m512 s1) {
  const int64_t at = row * t.c_stride;
  const __mmask16 m0 = first(t.columns), m1 = first(t.columns - 16);
  if (t.c_bf16) {
    uint16_t* c = static_cast<uint16_t*>(t.c) + at;
    _mm256_mask_storeu_epi16(c, m0, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(s0)));
    _mm256_mask_storeu_epi16(c + 16, m1, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(s1)));
    return;
  }
  float* c = static_cast<float*>(t.c) + at;
  if (t.accumulate) {
    s0 = _mm512_add_ps(s0, _mm512_maskz_loadu_ps(m0, c));
    s1 = _mm512_add_ps(s1, _mm512_maskz_loadu_ps(m1, c + 16));
  }
  _mm512_mask_storeu_ps(c, m0, s0);
  _mm512_mask_storeu_ps(c + 16, m1, s1);
}

// As in the f32 kernel: R broadcasts of A times two vectors of B at each step.
template <int R, bool kStepMajor>
__attribute__((noinline)) void tile(const GemmTiles& t, const float* __restrict a, int64_t row) {
  __m512 sum[R][2];
#pragma GCC unroll 12
  for (int i = 0; i < R; ++i) sum[i][0] = sum[i][1] = _mm512_setzero_ps();
  const int64_t size = t.c_bf16 ? sizeof(uint16_t) : sizeof(float);
  const char* c = static_cast<const char*>(t.c) + row * t.c_stride * size;
  for (int i = 0; i < R; ++i, c += t.c_stride * size) {
    __builtin_prefetch(c, 1), __builtin_prefetch(c + (kColumns - 1) * size, 1);
  }
  const float* __restrict b = t.b;
  const int64_t stride = t.a_stride;
  const float* base[(R + 2) / 3];
  for (int i = 0; i < R; i += 3) base[i / 3] = a + (kStepMajor ? i : i * stride);
  for (int64_t step = 0; step < t.steps; ++step) {
    const auto b0 = reinterpret_cast<__m512bh>(load16(b));
    const auto b1 = reinterpret_cast<__m512bh>(load16(b + 16));
    b += kColumns;
#pragma GCC unroll 12
    for (int i = 0; i < R; ++i) {
      const float unit = kStepMajor ? a[i] : base[i / 3][(i % 3) * stride];
      const auto x = reinterpret_cast<__m512bh>(_mm512_set1_ps(unit));
      sum[i][0] = _mm512_dpbf16_ps(sum[i][0], x, b0);
      sum[i][1] = _mm512_dpbf16_ps(sum[i][1], x, b1);
    }
    if (kStepMajor) {
      a += stride;
    } else {
#pragma GCC unroll 4
      for (auto& p : base) ++p;
    }
  }
  __m512 bias0 = _mm512_setzero_ps(), bias1 = bias0;
  if (t.bias != nullptr) bias0 = load16(t.bias), bias1 = load16(t.bias + 16);
#pragma GCC unroll 12
  for (int i = 0; i < R; ++i) {
    store_row(t, row + i, _mm512_add_ps(sum[i][0], bias0), _mm512_add_ps(sum[i][1], bias1));
  }
}

template <bool kStepMajor>
void run_tiles(const GemmTiles& t) {
  const float* a = t.a;
  int64_t row = 0;
  for (; row + kRows <= t.rows; row += kRows, a += t.a_panel) tile<kRows, kStepMajor>(t, a, row);
  const int64_t next = kStepMajor ? 1 : t.a_stride;
  const auto rest = [&](auto rows) {
    constexpr int kR = decltype(rows)::value;
    if (t.rows - row < kR) return;
    tile<kR, kStepMajor>(t, a, row);
    row += kR, a += kR * next;
  };
  rest(std::integral_constant<int, 8>());
  rest(std::integral_constant<int, 4>());
  rest(std::integral_constant<int, 2>());
  rest(std::integral_constant<int, 1>());
}

void tiles(const GemmTiles& t) { t.a_step_major ? run_tiles<true>(t) : run_tiles<false>(t); }

template <class T>
void rows_of(const T* source, int64_t source_stride, int64_t count, int64_t depth, float* to,
             int64_t stride) {
  for (int64_t i = 0; i < count; ++i) {
    const T* from = source + i * source_stride;
    auto* row = reinterpret_cast<uint16_t*>(to + i * stride);
    int64_t k = 0;
    for (; k < depth; k += 16) {
      // Up to the end of the last pair, whose second half is zero where depth is odd.
      const __mmask16 written = first((depth - k + 1) / 2 * 2);
      _mm256_mask_storeu_epi16(row + k, written, bits_of(from + k, first(depth - k)));
    }
  }
}

template <class T>
void strips_of(const T* source, int64_t source_stride, int64_t depth, int64_t count, int64_t width,
               float* to, int64_t strip) {
  constexpr int64_t kBlock = 32;  // rows that stay in the first cache from strip to strip
  for (int64_t k0 = 0; k0 < depth; k0 += kBlock) {
    const int64_t k1 = k0 + kBlock < depth ? k0 + kBlock : depth;
    for (int64_t s = 0; s < count; s += width) {
      const int64_t n = count - s < width ? count - s : width;
      for (int64_t k = k0; k < k1; k += 2) {
        const T* row = source + k * source_stride + s;
        float* at = to + s / width * strip + k / 2 * width;
        for (int64_t j = 0; j < width; j += 16) {
          const __mmask16 mask = first(n - j);
          const __m256i low = bits_of(row + j, mask);
          const __m256i high =
              k + 1 < depth ? bits_of(row + source_stride + j, mask) : _mm256_setzero_si256();
          const __m512i pairs = _mm512_or_si512(_mm512_cvtepu16_epi32(low),
                                                _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
          // May spill over what comes after it, because rows are written in order; not the last.
          if (k + 2 < depth) {
            _mm512_storeu_si512(at + j, pairs);
          } else {
            _mm512_mask_storeu_epi32(at + j, first(width - j), pairs);
          }
        }
      }
    }
  }
}

// Four pairs of a row.
inline __m128 four_pairs(const uint16_t* p) {
  return _mm_loadu_ps(reinterpret_cast<const float*>(p));
}
inline __m128 four_pairs(const float* p) {
  return reinterpret_cast<__m128>(_mm256_cvtneps_pbh(_mm256_loadu_ps(p)));
}

template <class T>
void transposed_of(const T* source, int64_t source_stride, int64_t depth, int64_t count,
                   int64_t width, float* to) {
  int64_t j = 0;
  const auto column = [&](int64_t c, int64_t from) {  // the pairs of one row from `from` on
    const T* row = source + c * source_stride;
    for (int64_t k = from; k < depth; k += 2) {
      const __m256i pair = bits_of(row + k, first(depth - k > 1 ? 2 : 1));
      const int unit = _mm256_extract_epi32(pair, 0);
      std::memcpy(to + k / 2 * width + c, &unit, sizeof(unit));
    }
  };
  for (; j + 4 <= count; j += 4) {
    const T* from = source + j * source_stride;
    int64_t k = 0;
    for (; k + 8 <= depth; k += 8) {
      __m128 r0 = four_pairs(from + k), r1 = four_pairs(from + source_stride + k);
      __m128 r2 = four_pairs(from + 2 * source_stride + k);
      __m128 r3 = four_pairs(from + 3 * source_stride + k);
      _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
      float* at = to + k / 2 * width + j;
      _mm_storeu_ps(at, r0), _mm_storeu_ps(at + width, r1);
      _mm_storeu_ps(at + 2 * width, r2), _mm_storeu_ps(at + 3 * width, r3);
    }
    for (int64_t c = j; c < j + 4; ++c) column(c, k);
  }
  for (; j < count; ++j) column(j, 0);
  for (; j < width; ++j) {
    for (int64_t k = 0; k < depth; k += 2) to[k / 2 * width + j] = 0;
  }
}

void pack_rows(const void* source, DType dtype, int64_t source_stride, int64_t count, int64_t depth,
               float* to, int64_t stride) {
  dtype == DType::f32
      ? rows_of(static_cast<const float*>(source), source_stride, count, depth, to, stride)
      : rows_of(static_cast<const uint16_t*>(source), source_stride, count, depth, to, stride);
}
void pack_strips(const void* source, DType dtype, int64_t source_stride, int64_t depth,
                 int64_t count, int64_t width, float* to, int64_t strip) {
  dtype == DType::f32
      ? strips_of(static_cast<const float*>(source), source_stride, depth, count, width, to, strip)
      : strips_of(static_cast<const uint16_t*>(source), source_stride, depth, count, width, to,
                  strip);
}
void pack_transposed(const void* source, DType dtype, int64_t source_stride, int64_t depth,
                     int64_t count, int64_t width, float* to) {
  dtype == DType::f32
      ? transposed_of(static_cast<const float*>(source), source_stride, depth, count, width, to)
      : transposed_of(static_cast<const uint16_t*>(source), source_stride, depth, count, width, to);
}

constexpr GemmKernel kKernel{kRows, kColumns, 2, pack_rows, pack_strips, pack_transposed, tiles};

}  // namespace
}  // namespace bertrain

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace bertrain {

const GemmKernel* gemm_kernel_bf16() {
#if defined(__x86_64__)
  // Part of the widest set: whoever asked for an older one gets its results.
  static const bool has = __builtin_cpu_supports("avx512bf16") != 0;
  if (has && instruction_set().starts_with("AVX3")) return &kKernel;
#endif
  return nullptr;
}

}  // namespace bertrain
