// Softmax and cross entropy against plain loops.
#include "backend/cpu/kernels/softmax.h"

#include <cmath>

#include "backend/cpu/kernels/test_values.h"

namespace bertrain {
namespace {

TEST(CrossEntropy, EqualsPlainLoops) {
  on_each_instruction_set([] {
    for (DType dtype : {DType::f32, DType::bf16}) {
      for (int64_t columns : {1, 2, 15, 33, 1000}) {
        constexpr int64_t kRows = 9;
        TestValues x(kRows * columns, 1, dtype, 20), p(kRows * columns, 2, dtype),
            d(kRows * columns, 3, dtype);
        std::vector<int32_t> label, argmax(kRows);
        std::vector<float> loss(kRows), lse(kRows), dloss;
        for (int64_t r = 0; r < kRows; ++r) {
          label.push_back(static_cast<int32_t>(r * 7 % columns));
          dloss.push_back(static_cast<float>(r) / 4);
        }
        const CrossEntropyRows rows{x.data(), dtype, kRows, columns, label.data()};
        cross_entropy(rows, loss.data(), lse.data(), argmax.data());
        cross_entropy_grad(rows, lse.data(), dloss.data(), d.data());
        // In one go the same bits, in either dtype.
        for (DType d_dtype : {DType::f32, DType::bf16}) {
          TestValues d2(kRows * columns, 4, d_dtype);
          std::vector<float> loss2(kRows), lse2(kRows);
          std::vector<int32_t> argmax2(kRows);
          cross_entropy_with_grad(
              rows, {loss2.data(), lse2.data(), argmax2.data(), dloss.data(), d2.data(), d_dtype});
          EXPECT_EQ(loss2, loss);
          EXPECT_EQ(lse2, lse);
          EXPECT_EQ(argmax2, argmax);
          d2.read(), d.read();
          for (int64_t i = 0; i < kRows * columns; ++i) {
            expect_close(d2[i], d[i], d_dtype == dtype ? DType::f32 : DType::bf16, 1e-7);
          }
        }
        softmax_rows(x.data(), dtype, kRows, columns, p.data());
        d.read(), p.read();
        for (int64_t r = 0; r < kRows; ++r) {
          double sum = 0;
          int32_t best = 0;
          for (int64_t c = 0; c < columns; ++c) {
            sum += std::exp(double{x[r * columns + c]});
            if (x[r * columns + c] > x[r * columns + best]) best = static_cast<int32_t>(c);
          }
          expect_close(lse[r], std::log(sum), DType::f32);
          expect_close(loss[r], std::log(sum) - x[r * columns + label[r]], DType::f32, 3e-6);
          EXPECT_EQ(argmax[r], best);
          for (int64_t c = 0; c < columns; ++c) {
            const double want = std::exp(double{x[r * columns + c]}) / sum;
            expect_close(p[r * columns + c], want, dtype);
            expect_close(d[r * columns + c], (want - (c == label[r])) * dloss[r], dtype, 4e-6);
          }
        }
      }
    }
  });
}

TEST(CrossEntropy, TakesTheFirstMaximumAndShowsNaN) {
  on_each_instruction_set([] {
    std::vector<float> x(100, 1.0F);
    x[37] = x[41] = x[70] = 5;
    const int32_t label[] = {3};
    float loss = 0, lse = 0;
    int32_t argmax = 0;
    cross_entropy({x.data(), DType::f32, 1, 100, label}, &loss, &lse, &argmax);
    EXPECT_EQ(argmax, 37);
    const int32_t none[] = {-1};
    cross_entropy({x.data(), DType::f32, 1, 100, none}, &loss, &lse, &argmax);
    EXPECT_EQ(loss, lse);
    x[99] = NAN;
    cross_entropy({x.data(), DType::f32, 1, 100, label}, &loss, &lse, &argmax);
    EXPECT_TRUE(std::isnan(loss));
    EXPECT_TRUE(std::isnan(lse));
  });
}

}  // namespace
}  // namespace bertrain
