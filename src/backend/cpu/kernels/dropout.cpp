// Dropout of rows, by itself; the fused passes use the same decisions.
#include "backend/cpu/kernels/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/dropout.cpp"
#include "hwy/foreach_target.h"
// after foreach_target
#include <algorithm>

#include "backend/cpu/kernels/dropout-inl.h"
#include "backend/cpu/kernels/parallel.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bertrain {
namespace HWY_NAMESPACE {
namespace {

void drop(const void* x, void* y, DType dtype, int64_t begin, int64_t end, int64_t columns,
          const RowDropout& dropout) {
  const VU threshold = hn::Set(kU, dropout.source.threshold);
  const V scale = hn::Set(kF, dropout.source.scale);
  const uint32_t blocks = static_cast<uint32_t>((columns + 3) / 4);
  HWY_ALIGN uint16_t bits[kDrawn];
  with_type(dtype, [&](auto type) HWY_ATTR {
    using T = decltype(type);
    for (int64_t row = begin; row < end; ++row) {
      const T* from = static_cast<const T*>(x) + row * columns;
      T* to = static_cast<T*>(y) + row * columns;
      const uint32_t c1 = static_cast<uint32_t>(dropout.position[row]) * blocks;
      for (int64_t c = 0; c < columns; c += kDrawn) {
        draw(dropout.source, dropout.number[row], c1 + static_cast<uint32_t>(c / 4), bits);
        each_vector(std::min(kDrawn, columns - c), [&](int64_t i, int64_t n) HWY_ATTR {
          store(hn::Mul(load(from + c + i, n), kept(bits + i, threshold, scale)), to + c + i, n);
        });
      }
    }
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace bertrain
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bertrain {
HWY_EXPORT(drop);

void dropout_rows(const void* x, void* y, DType dtype, int64_t rows, int64_t columns,
                  const RowDropout& dropout) {
  parallel_chunks(rows, 16, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(drop)(x, y, dtype, begin, end, columns, dropout);
  });
}

}  // namespace bertrain
#endif
