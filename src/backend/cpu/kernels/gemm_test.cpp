// The matrix product against plain loops: every transposition, odd sizes, strides, types,
// accumulation.
#include "backend/cpu/kernels/gemm.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <vector>

#include "backend/cpu/kernels/test_values.h"

namespace bertrain {
namespace {

// A stored matrix with its rows further apart than they are long; what lies between is NaN.
struct Stored {
  int64_t rows, columns, stride;
  DType dtype;
  std::vector<float> f32;
  std::vector<uint16_t> bf16;

  Stored(int64_t r, int64_t c, int64_t gap, DType type, uint32_t seed)
      : rows(r), columns(c), stride(c + gap), dtype(type) {
    f32.assign(static_cast<size_t>(r * stride), NAN);
    bf16.resize(f32.size());
    const TestValues random(r * c, seed);
    for (int64_t i = 0; i < r; ++i) {
      for (int64_t j = 0; j < c; ++j) {
        float& x = f32[static_cast<size_t>(i * stride + j)];
        x = random[i * c + j];
        if (dtype == DType::bf16) x = bf16_to_f32(f32_to_bf16(x));
      }
    }
    for (size_t i = 0; i < f32.size(); ++i) bf16[i] = f32_to_bf16(f32[i]);
  }
  double at(int64_t i, int64_t j) const { return f32[static_cast<size_t>(i * stride + j)]; }
  GemmOperand operand(bool transposed) const {
    const void* data = dtype == DType::bf16 ? static_cast<const void*>(bf16.data()) : f32.data();
    return {data, stride, transposed, dtype};
  }
};

struct Case {
  int64_t m, n, k;
  bool ta = false, tb = false, accumulate = false, bias = false;
  DType a = DType::f32, b = DType::f32, c = DType::f32, compute = DType::f32;
};

double rounded(double x, bool bf16) {
  return bf16 ? bf16_to_f32(f32_to_bf16(static_cast<float>(x))) : x;
}

void expect_product(const Case& t) {
  SCOPED_TRACE(testing::Message() << t.m << "x" << t.n << "x" << t.k << " ta " << t.ta << " tb "
                                  << t.tb << " acc " << t.accumulate << " a " << name_of(t.a)
                                  << " b " << name_of(t.b) << " c " << name_of(t.c) << " in "
                                  << name_of(t.compute));
  const Stored a(t.ta ? t.k : t.m, t.ta ? t.m : t.k, 3, t.a, 1);
  const Stored b(t.tb ? t.n : t.k, t.tb ? t.k : t.n, 5, t.b, 2);
  Stored c(t.m, t.n, 2, t.c, 3);
  const Stored before = c;
  const TestValues bias(t.n, 4);
  Gemm g{t.m, t.n, t.k, a.operand(t.ta), b.operand(t.tb)};
  g.c = t.c == DType::bf16 ? static_cast<void*>(c.bf16.data()) : c.f32.data();
  g.c_stride = c.stride, g.c_dtype = t.c, g.accumulate = t.accumulate, g.compute = t.compute;
  if (t.bias) g.bias = bias.numbers.data();
  gemm(g);
  const bool round = t.compute == DType::bf16;
  const double tolerance = 4e-6 * (1 + std::sqrt(static_cast<double>(t.k)));
  // Of a large product only some elements are computed again.
  const int64_t step = t.m * t.n * t.k > 300000 ? 13 : 1;
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = i % step; j < t.n; j += step) {
      double want = t.accumulate ? before.at(i, j) : 0;
      if (t.bias) want += bias[j];
      for (int64_t k = 0; k < t.k; ++k) {
        want += rounded(t.ta ? a.at(k, i) : a.at(i, k), round) *
                rounded(t.tb ? b.at(j, k) : b.at(k, j), round);
      }
      const size_t index = static_cast<size_t>(i * c.stride + j);
      const double got = t.c == DType::bf16 ? bf16_to_f32(c.bf16[index]) : c.f32[index];
      const double allowed = tolerance + (t.c == DType::bf16 ? std::fabs(want) / 128 : 0);
      ASSERT_NEAR(got, want, allowed) << "at " << i << ", " << j;
    }
    // What lies between the rows is left alone.
    const size_t gap = static_cast<size_t>(i * c.stride + t.n);
    ASSERT_TRUE(std::isnan(t.c == DType::bf16 ? bf16_to_f32(c.bf16[gap]) : c.f32[gap]));
  }
}

const Case kSizes[] = {{1, 1, 1},    {1, 33, 7},    {5, 2, 64},     {12, 32, 16},   {13, 31, 17},
                       {24, 64, 3},  {47, 65, 129}, {128, 128, 64}, {100, 97, 331}, {11, 200, 20},
                       {300, 70, 9}, {7, 40, 3500}, {64, 30, 1537}, {33, 33, 0}};

TEST(Gemm, EqualsPlainLoops) {
  for (Case t : kSizes) {
    for (int bits = 0; bits < 16; ++bits) {
      t.ta = bits & 1, t.tb = bits & 2, t.accumulate = bits & 4, t.bias = bits & 8;
      expect_product(t);
    }
  }
}

TEST(Gemm, RunsOnEveryInstructionSet) {
  on_each_instruction_set([] {
    for (bool ta : {false, true}) {
      expect_product({47, 65, 129, ta, ta, false, true});
      expect_product({31, 70, 33, ta, !ta, true});
    }
    Case t{20, 37, 41};
    t.a = t.b = t.c = t.compute = DType::bf16;
    expect_product(t);
  });
}

TEST(Gemm, TakesBf16) {
  const DType f32 = DType::f32, bf16 = DType::bf16;
  for (Case t : kSizes) {
    for (int bits = static_cast<int>(t.m) % 3; bits < 32; bits += 3) {
      t.ta = bits & 1, t.tb = bits & 2;
      t.a = bits & 4 ? bf16 : f32, t.b = bits & 8 ? bf16 : f32, t.c = bits & 16 ? bf16 : f32;
      t.compute = bf16;
      t.bias = bits & 1;
      expect_product(t);
      t.compute = f32;
      if (bits % 3 == 0) expect_product(t);
    }
  }
}

TEST(Gemm, ReachesBeyondItsBlocks) {
  expect_product({1500, 100, 1600});
  expect_product({1500, 100, 1600, true, true, true, true});
  expect_product({20, 3000, 1000, false, true});
  Case t{50, 2500, 3300, true, false};
  t.a = t.b = t.c = t.compute = DType::bf16;
  expect_product(t);
}

TEST(Gemm, DoesNotDependOnThreads) {
  const Stored a(200, 700, 0, DType::f32, 1), b(700, 300, 0, DType::f32, 2);
  std::vector<float> results[3];
  for (int threads = 1; threads <= 3; ++threads) {
    std::vector<float>& c = results[threads - 1];
    c.resize(200 * 300);
    Gemm g{200, 300, 700, a.operand(false), b.operand(false)};
    g.c = c.data(), g.c_stride = 300;
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    gemm(g);
    omp_set_num_threads(before);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace bertrain
