// Dropout against the scalar random numbers.
#include "backend/cpu/kernels/dropout.h"

#include "backend/cpu/kernels/test_values.h"

namespace bertrain {
namespace {

TEST(Dropout, KeepsWhatTheCounterSays) {
  const Block key{123, 456};
  on_each_instruction_set([&] {
    for (DType dtype : {DType::f32, DType::bf16}) {
      for (int64_t columns : {1, 4, 30, 64, 131, 256}) {
        constexpr int64_t kRows = 37;
        std::vector<uint32_t> number;
        std::vector<int32_t> position;
        for (int64_t i = 0; i < kRows; ++i) {
          number.push_back(static_cast<uint32_t>(7 + i / 5)), position.push_back(i % 5);
        }
        TestValues x(kRows * columns, 1, dtype), y(kRows * columns, 2, dtype);
        const RowDropout dropout{{key, 0.3}, number.data(), position.data()};
        dropout_rows(x.data(), y.data(), dtype, kRows, columns, dropout);
        y.read();
        for (int64_t row = 0; row < kRows; ++row) {
          for (int64_t c = 0; c < columns; ++c) {
            const uint32_t c1 = static_cast<uint32_t>(position[row] * ((columns + 3) / 4) + c / 4);
            const Block bits = threefry(key, {number[row], c1});
            const uint32_t lane = (bits[c % 4 / 2] >> (16 * (c % 2))) & 0xffff;
            const double want = lane >= 19661 ? x[row * columns + c] / (1 - 19661 / 65536.0) : 0;
            expect_close(y[row * columns + c], want, dtype, 1e-7);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace bertrain
