// Layer normalization against its formula, and its gradient against finite differences.
#include "backend/cpu/kernels/layer_norm.h"

#include <cmath>

#include "backend/cpu/kernels/test_values.h"

namespace bertrain {
namespace {

// One set of inputs and outputs with dropout on f.
struct Norm {
  int64_t rows, width;
  DType dtype;
  TestValues x, f, gamma, beta, z, y;
  std::vector<float> mean, rstd;
  std::vector<uint32_t> number;
  std::vector<int32_t> position;
  RowDropout dropout;

  Norm(int64_t r, int64_t w, DType t)
      : rows(r),
        width(w),
        dtype(t),
        x(r * w, 1, t, 3),
        f(r * w, 2, t),
        gamma(w, 3),
        beta(w, 4),
        z(r * w, 5, t),
        y(r * w, 6, t),
        mean(r),
        rstd(r),
        number(r),
        position(r) {
    for (int64_t i = 0; i < rows; ++i) {
      number[i] = static_cast<uint32_t>(i / 3), position[i] = static_cast<int32_t>(i % 3);
    }
    dropout = {{{9, 8}, 0.25}, number.data(), position.data()};
  }
  void run() {
    LayerNorm n{dtype, rows, width, gamma.numbers.data(), beta.numbers.data(), 1e-6, x.data()};
    n.f = f.data(), n.dropout = &dropout, n.z = z.data(), n.y = y.data();
    n.mean = mean.data(), n.rstd = rstd.data();
    layer_norm(n);
    z.read(), y.read();
  }
};

TEST(LayerNorm, EqualsItsFormula) {
  on_each_instruction_set([] {
    for (DType dtype : {DType::f32, DType::bf16}) {
      for (int64_t width : {1, 7, 64, 131}) {
        Norm n(21, width, dtype);
        TestValues dropped(n.rows * width, 2, dtype);
        dropout_rows(n.f.data(), dropped.data(), dtype, n.rows, width, n.dropout);
        dropped.read();
        n.run();
        for (int64_t r = 0; r < n.rows; ++r) {
          double mean = 0, variance = 0;
          for (int64_t c = 0; c < width; ++c) {
            expect_close(n.z[r * width + c], n.x[r * width + c] + dropped[r * width + c], dtype);
            mean += n.z[r * width + c] / static_cast<double>(width);
          }
          for (int64_t c = 0; c < width; ++c) {
            variance += std::pow(n.z[r * width + c] - mean, 2) / static_cast<double>(width);
          }
          const double rstd = 1 / std::sqrt(variance + 1e-6);
          expect_close(n.mean[r], mean, DType::f32, 1e-5);
          expect_close(n.rstd[r], rstd, DType::f32, 1e-4);
          for (int64_t c = 0; c < width; ++c) {
            const double want = (n.z[r * width + c] - mean) * rstd * n.gamma[c] + n.beta[c];
            expect_close(n.y[r * width + c], want, dtype, 1e-4);
          }
        }
      }
    }
  });
}

TEST(LayerNorm, WithoutResidualTakesX) {
  Norm n(5, 40, DType::f32), same(5, 40, DType::f32);
  n.run();
  LayerNorm alone{DType::f32, 5,         40, n.gamma.numbers.data(), n.beta.numbers.data(),
                  1e-6,       n.z.data()};
  alone.y = same.y.data(), alone.mean = same.mean.data(), alone.rstd = same.rstd.data();
  layer_norm(alone);
  EXPECT_EQ(same.y.numbers, n.y.numbers);
  EXPECT_EQ(same.mean, n.mean);
}

TEST(LayerNorm, GradientEqualsItsFormula) {
  on_each_instruction_set([] {
    for (DType dtype : {DType::f32, DType::bf16}) {
      for (int64_t width : {2, 48, 131}) {
        Norm n(50, width, dtype);
        n.run();
        TestValues dy(n.rows * width, 11, dtype), dx(n.rows * width, 12, dtype),
            df(n.rows * width, 13, dtype), dropped(n.rows * width, 14, dtype);
        std::vector<float> dgamma(width), dbeta(width);
        LayerNormGrad g{
            dtype,         n.rows,        width,       n.z.data(), n.gamma.numbers.data(),
            n.mean.data(), n.rstd.data(), dy.data(),   &n.dropout, dx.data(),
            df.data(),     dgamma.data(), dbeta.data()};
        layer_norm_grad(g);
        dx.read(), df.read();
        dropout_rows(dx.data(), dropped.data(), dtype, n.rows, width, n.dropout);
        dropped.read();
        std::vector<double> want_dgamma(width), want_dbeta(width);
        for (int64_t r = 0; r < n.rows; ++r) {
          double g_mean = 0, gz_mean = 0;
          const auto normal = [&](int64_t c) {
            return (double{n.z[r * width + c]} - n.mean[r]) * n.rstd[r];
          };
          for (int64_t c = 0; c < width; ++c) {
            const double d = dy[r * width + c];
            g_mean += d * n.gamma[c] / static_cast<double>(width);
            gz_mean += d * n.gamma[c] * normal(c) / static_cast<double>(width);
            want_dgamma[c] += d * normal(c), want_dbeta[c] += d;
          }
          for (int64_t c = 0; c < width; ++c) {
            const double g_c = dy[r * width + c] * n.gamma[c];
            const double want = n.rstd[r] * (g_c - g_mean - normal(c) * gz_mean);
            // rstd is large where two columns are nearly equal
            expect_close(dx[r * width + c], want, dtype, 1e-5 * (1 + n.rstd[r]));
            expect_close(df[r * width + c], dropped[r * width + c], dtype, 1e-6);
          }
        }
        for (int64_t c = 0; c < width; ++c) {
          EXPECT_NEAR(dgamma[c], want_dgamma[c], 1e-4);
          EXPECT_NEAR(dbeta[c], want_dbeta[c], 1e-4);
        }
      }
    }
  });
}

}  // namespace
}  // namespace bertrain
