// Column sums, row sums and sums of squares.
#include "backend/cpu/kernels/sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/sums.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include <algorithm>

#include "backend/cpu/kernels/huge_buffer.h"
#include "backend/cpu/kernels/lanes-inl.h"
#include "backend/cpu/kernels/parallel.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bertrain {
namespace HWY_NAMESPACE {
namespace {

// y = Σ of `rows` rows of `columns` elements that lie `stride` apart.
void add_rows(const void* x, DType dtype, int64_t rows, int64_t columns, int64_t stride, float* y) {
  std::fill(y, y + columns, 0.0F);
  with_type(dtype, [&](auto type) HWY_ATTR {
    const auto* from = static_cast<const decltype(type)*>(x);
    int64_t row = 0;
    // Four rows at a time, so that y is read and written less often.
    for (; row + 4 <= rows; row += 4, from += 4 * stride) {
      each_vector(columns, [&](int64_t c, int64_t n) HWY_ATTR {
        const V a = hn::Add(load(from + c, n), load(from + stride + c, n));
        const V b = hn::Add(load(from + 2 * stride + c, n), load(from + 3 * stride + c, n));
        store(hn::Add(load(y + c, n), hn::Add(a, b)), y + c, n);
      });
    }
    for (; row < rows; ++row, from += stride) {
      each_vector(columns, [&](int64_t c, int64_t n) HWY_ATTR {
        store(hn::Add(load(y + c, n), load(from + c, n)), y + c, n);
      });
    }
  });
}

void sum_rows(const void* x, DType dtype, int64_t begin, int64_t end, int64_t columns, float* y) {
  with_type(dtype, [&](auto type) HWY_ATTR {
    for (int64_t row = begin; row < end; ++row) {
      const auto* from = static_cast<const decltype(type)*>(x) + row * columns;
      V total = hn::Zero(kF);
      each_vector(columns, [&](int64_t c, int64_t n)
                               HWY_ATTR { total = hn::Add(total, load(from + c, n)); });
      y[row] = sum(total);
    }
  });
}

// f32 sums of a few thousand squares, added up in double.
double squares(const void* x, DType dtype, int64_t begin, int64_t end) {
  double total = 0;
  with_type(dtype, [&](auto type) HWY_ATTR {
    const auto* from = static_cast<const decltype(type)*>(x);
    for (int64_t i = begin; i < end; i += 4096) {
      const auto* p = from + i;
      const int64_t count = std::min(end - i, int64_t{4096});
      V s[4] = {hn::Zero(kF), hn::Zero(kF), hn::Zero(kF), hn::Zero(kF)};
      int64_t c = 0;
      for (; c + 4 * kLanes <= count; c += 4 * kLanes) {
        for (int64_t u = 0; u < 4; ++u) {
          const V v = load(p + c + u * kLanes);
          s[u] = hn::MulAdd(v, v, s[u]);
        }
      }
      for (; c < count; c += kLanes) {
        const V v = load(p + c, std::min(kLanes, count - c));
        s[0] = hn::MulAdd(v, v, s[0]);
      }
      total += static_cast<double>(sum(hn::Add(hn::Add(s[0], s[1]), hn::Add(s[2], s[3]))));
    }
  });
  return total;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace bertrain
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bertrain {
HWY_EXPORT(add_rows);
HWY_EXPORT(sum_rows);
HWY_EXPORT(squares);

void column_sums(const void* x, DType dtype, int64_t rows, int64_t columns, float* y) {
  const int64_t size = static_cast<int64_t>(size_of(dtype));
  if (columns >= 4096) {  // wide: each chunk of columns runs through all rows
    parallel_chunks(columns, 512, [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(add_rows)
      (static_cast<const std::byte*>(x) + begin * size, dtype, rows, end - begin, columns,
       y + begin);
    });
    return;
  }
  const int64_t chunk = sum_chunk(rows);
  const int64_t chunks = std::max(chunk_count(rows, chunk), int64_t{1});
  float* parts = scratch_of<float>(Scratch::rows, static_cast<size_t>(chunks * columns));
  if (rows == 0) std::fill(parts, parts + columns, 0.0F);
  parallel_chunks(rows, chunk, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_rows)
    (static_cast<const std::byte*>(x) + begin * columns * size, dtype, end - begin, columns,
     columns, parts + begin / chunk * columns);
  });
  add_chunks(parts, chunks, columns, y);
}

void row_sums(const void* x, DType dtype, int64_t rows, int64_t columns, float* y) {
  parallel_chunks(rows, std::max(int64_t{1}, 16384 / std::max(columns, int64_t{1})),
                  [&](int64_t begin, int64_t end) {
                    HWY_DYNAMIC_DISPATCH(sum_rows)(x, dtype, begin, end, columns, y);
                  });
}

double sum_of_squares(const void* x, DType dtype, int64_t count) {
  constexpr int64_t kChunk = 1 << 17;
  const int64_t chunks = chunk_count(count, kChunk);
  double* parts = scratch_of<double>(Scratch::rows, static_cast<size_t>(chunks));
  parallel_chunks(count, kChunk, [&](int64_t begin, int64_t end) {
    parts[begin / kChunk] = HWY_DYNAMIC_DISPATCH(squares)(x, dtype, begin, end);
  });
  double total = 0;
  for (int64_t i = 0; i < chunks; ++i) total += parts[i];
  return total;
}

void add_chunks(const float* parts, int64_t chunks, int64_t columns, float* y) {
  parallel_chunks(columns, 2048, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_rows)
    (parts + begin, DType::f32, chunks, end - begin, columns, y + begin);
  });
}

}  // namespace bertrain
#endif
