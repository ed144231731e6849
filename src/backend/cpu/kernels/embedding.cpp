// Gathering and scattering the rows of a table.
#include "backend/cpu/kernels/embedding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/embedding.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include "backend/cpu/kernels/lanes-inl.h"
#include "backend/cpu/kernels/parallel.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bertrain {
namespace HWY_NAMESPACE {
namespace {

void add_at(const void* rows, DType dtype, const int32_t* ids, int64_t count, int64_t width,
            int64_t begin, int64_t end, float* table) {
  with_type(dtype, [&](auto type) HWY_ATTR {
    const auto* from = static_cast<const decltype(type)*>(rows) + begin;
    for (int64_t row = 0; row < count; ++row, from += width) {
      float* to = table + ids[row] * width + begin;
      each_vector(end - begin, [&](int64_t i, int64_t n) HWY_ATTR {
        store(hn::Add(load(to + i, n), load(from + i, n)), to + i, n);
      });
    }
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace bertrain
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bertrain {
HWY_EXPORT(add_at);

void gather_rows(const void* table, const int32_t* ids, int64_t count, int64_t row_bytes, void* y) {
  parallel_chunks(count, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(static_cast<std::byte*>(y) + i * row_bytes,
                  static_cast<const std::byte*>(table) + ids[i] * row_bytes,
                  static_cast<size_t>(row_bytes));
    }
  });
}

void scatter_add_rows(const void* rows, DType dtype, const int32_t* ids, int64_t count,
                      int64_t width, float* table) {
  parallel_chunks(width, 64, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_at)(rows, dtype, ids, count, width, begin, end, table);
  });
}

}  // namespace bertrain
#endif
