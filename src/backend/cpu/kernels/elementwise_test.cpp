// Element-wise kernels against the C library, on every instruction set.
#include "backend/cpu/kernels/elementwise.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "backend/cpu/kernels/test_values.h"

namespace bertrain {
namespace {

double gelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
double gelu_erf(double x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2)); }

struct UnaryCase {
  Unary op;
  std::function<double(double)> want;
  double low, high;
};
const UnaryCase kUnary[] = {
    {Unary::convert, [](double x) { return x; }, -9, 9},
    {Unary::negate, [](double x) { return -x; }, -9, 9},
    {Unary::exp, [](double x) { return std::exp(x); }, -87, 88.7},
    {Unary::sqrt, [](double x) { return std::sqrt(x); }, 0, 1e6},
    {Unary::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 1e-3, 100},
    {Unary::tanh, [](double x) { return std::tanh(x); }, -12, 12},
    {Unary::erf, [](double x) { return std::erf(x); }, -6, 6},
    {Unary::relu, [](double x) { return std::max(x, 0.0); }, -9, 9},
    {Unary::gelu, gelu, -9, 9},
    {Unary::gelu_erf, gelu_erf, -9, 9},
};

TEST(Elementwise, UnaryEqualsTheLibrary) {
  on_each_instruction_set([] {
    for (const UnaryCase& c : kUnary) {
      SCOPED_TRACE(static_cast<int>(c.op));
      constexpr int kCount = 40013;
      std::vector<float> x(kCount), y(kCount);
      for (int i = 0; i < kCount; ++i) {
        x[i] = static_cast<float>(c.low + (c.high - c.low) * i / (kCount - 1));
      }
      map(c.op, {x.data()}, y.data(), DType::f32, kCount);
      for (int i = 0; i < kCount; ++i) {
        const double want = c.want(x[i]);
        // 2.5 units in the last place, or for sums that cancel the same beside 1.
        const bool cancels = c.op == Unary::gelu || c.op == Unary::gelu_erf;
        const double size = cancels ? std::max(std::fabs(want), 1.0) : std::fabs(want);
        ASSERT_NEAR(y[i], want, 3e-7 * size + 1e-38) << "of " << x[i];
      }
    }
  });
}

TEST(Elementwise, SmallAndSpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float x[] = {1e-30F, -1e-4F, kInfinity, -kInfinity, NAN, 0, 89, -104};
  on_each_instruction_set([&] {
    float y[8];
    map(Unary::tanh, {x}, y, DType::f32, 8);
    EXPECT_FLOAT_EQ(y[0], 1e-30F);
    EXPECT_FLOAT_EQ(y[1], -1e-4F);
    EXPECT_EQ(y[2], 1);
    EXPECT_EQ(y[3], -1);
    EXPECT_TRUE(std::isnan(y[4]));
    map(Unary::exp, {x}, y, DType::f32, 8);
    EXPECT_EQ(y[2], kInfinity);
    EXPECT_EQ(y[3], 0);
    EXPECT_TRUE(std::isnan(y[4]));
    EXPECT_EQ(y[5], 1);
    EXPECT_EQ(y[6], kInfinity);
    EXPECT_EQ(y[7], 0);
    map(Unary::erf, {x}, y, DType::f32, 8);
    EXPECT_EQ(y[2], 1);
    EXPECT_EQ(y[3], -1);
    EXPECT_TRUE(std::isnan(y[4]));
    map(Unary::relu, {x}, y, DType::f32, 8);
    EXPECT_TRUE(std::isnan(y[4]));
    map(Binary::maximum, x, x + 1, y, DType::f32, 6);
    EXPECT_TRUE(std::isnan(y[3]));
    EXPECT_TRUE(std::isnan(y[4]));
  });
}

TEST(Elementwise, ConvertsAsTheHostDoes) {
  TestValues x(1003, 5, DType::f32, 100);
  x.numbers[3] = NAN;
  x.numbers[4] = std::numeric_limits<float>::infinity();
  x.numbers[5] = 1.00390625F;  // a tie, to even
  on_each_instruction_set([&] {
    std::vector<uint16_t> y(1003);
    map(Unary::convert, {x.data()}, y.data(), DType::bf16, 1003);
    std::vector<float> z(1003);
    map(Unary::convert, {y.data(), DType::bf16}, z.data(), DType::f32, 1003);
    for (size_t i = 0; i < y.size(); ++i) {
      const float want = bf16_to_f32(f32_to_bf16(x.numbers[i]));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(z[i]));
      } else {
        EXPECT_EQ(z[i], want);
      }
    }
  });
}

TEST(Elementwise, BinaryEqualsPlainLoops) {
  const auto slope = [](const std::function<double(double)>& f, double x) {
    return (f(x + 1e-4) - f(x - 1e-4)) / 2e-4;
  };
  const std::function<double(double, double)> wants[] = {
      [](double a, double b) { return a + b; },
      [](double a, double b) { return a - b; },
      [](double a, double b) { return a * b; },
      [](double a, double b) { return a / b; },
      [](double a, double b) { return std::max(a, b); },
      [&](double a, double b) { return b * slope(gelu, a); },
      [&](double a, double b) { return b * slope(gelu_erf, a); },
  };
  on_each_instruction_set([&] {
    for (DType dtype : {DType::f32, DType::bf16}) {
      TestValues a(2049, 1, dtype, 4), b(2049, 2, dtype, 3), y(2049, 3, dtype);
      for (int op = 0; op < 7; ++op) {
        SCOPED_TRACE(op);
        map(static_cast<Binary>(op), a.data(), b.data(), y.data(), dtype, 2049);
        y.read();
        for (int64_t i = 0; i < 2049; ++i) expect_close(y[i], wants[op](a[i], b[i]), dtype);
      }
      scale_and_shift(a.data(), 3, -1, y.data(), dtype, 2049);
      y.read();
      for (int64_t i = 0; i < 2049; ++i) expect_close(y[i], 3 * a[i] - 1, dtype);
    }
  });
}

}  // namespace
}  // namespace bertrain
