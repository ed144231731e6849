// The AdamW update against its formula.
#include "backend/cpu/kernels/adamw.h"

#include <cmath>

#include "backend/cpu/kernels/test_values.h"

namespace bertrain {
namespace {

TEST(AdamW, EqualsItsFormula) {
  on_each_instruction_set([] {
    constexpr int64_t kCount = 20011;
    TestValues w(kCount, 1), g(kCount, 2), m(kCount, 3), v(kCount, 4);
    for (float& x : v.numbers) x = std::fabs(x);
    const TestValues w0 = w, m0 = m, v0 = v;
    AdamWUpdate u{kCount,           w.numbers.data(), g.numbers.data(), m.numbers.data(),
                  v.numbers.data(), w.numbers.data(), m.numbers.data(), v.numbers.data()};
    u.rate = 0.01F, u.decay = 0.001F, u.epsilon = 1e-6F, u.scale = 0.5F;
    adamw(u);
    for (int64_t i = 0; i < kCount; ++i) {
      const double gs = g[i] * 0.5, want_m = 0.9 * m0[i] + 0.1 * gs;
      const double want_v = 0.999 * v0[i] + 0.001 * gs * gs;
      ASSERT_NEAR(m[i], want_m, 1e-6);
      ASSERT_NEAR(v[i], want_v, 1e-6);
      const double step = 0.01 * want_m / (std::sqrt(want_v) + 1e-6);
      ASSERT_NEAR(w[i], w0[i] - 0.001 * w0[i] - step, 1e-6 * (1 + std::fabs(step)));
    }
  });
}

TEST(AdamW, LeavesAllAloneWithoutANorm) {
  TestValues w(100, 1), g(100, 2), m(100, 3), v(100, 4);
  std::vector<float> w2(100), m2(100), v2(100);
  AdamWUpdate u{100,       w.numbers.data(), g.numbers.data(), m.numbers.data(), v.numbers.data(),
                w2.data(), m2.data(),        v2.data()};
  u.rate = 1, u.scale = NAN;
  adamw(u);
  EXPECT_EQ(w2, w.numbers);
  EXPECT_EQ(m2, m.numbers);
  EXPECT_EQ(v2, v.numbers);
}

}  // namespace
}  // namespace bertrain
