// Attention and its gradient against plain loops in double precision.
#include "backend/cpu/kernels/attention.h"

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels/test_values.h"

namespace bertrain {
namespace {

// Two rows of slots with examples of some lengths, an empty slot after each.
struct Scene {
  Attention a;
  std::vector<int32_t> example, is_key, position;
  std::vector<uint32_t> number;
  TestValues q, k, v, dy;
  RowDropout dropout;

  Scene(const std::vector<int64_t>& lengths, int64_t heads, int64_t depth, DType dtype,
        bool with_dropout, int32_t first_position = 0)
      : q(slots(lengths) * heads * depth, 1, dtype, 2),
        k(slots(lengths) * heads * depth, 2, dtype, 2),
        v(slots(lengths) * heads * depth, 3, dtype),
        dy(slots(lengths) * heads * depth, 4, dtype) {
    for (int row = 0; row < 2; ++row) {
      for (size_t e = 0; e < lengths.size(); ++e) {
        for (int64_t i = 0; i < lengths[e]; ++i) {
          example.push_back(static_cast<int32_t>(row * lengths.size() + e));
          is_key.push_back(i % 7 != 5);
          position.push_back(static_cast<int32_t>(i) + first_position);
          number.push_back(static_cast<uint32_t>(100 + example.back()));
        }
        example.push_back(-1), is_key.push_back(0), position.push_back(0), number.push_back(0);
      }
    }
    dropout = {{{77, 88}, 0.2}, number.data(), position.data()};
    a = {dtype, 2, slots(lengths) / 2, heads * depth, heads, q.data(), k.data(), v.data()};
    a.example = example.data(), a.is_key = is_key.data();
    if (with_dropout) a.dropout = &dropout;
  }
  static int64_t slots(const std::vector<int64_t>& lengths) {
    int64_t total = 0;
    for (int64_t n : lengths) total += 2 * (n + 1);
    return total;
  }
  double kept(int64_t i, int64_t j, int64_t head) const {
    if (a.dropout == nullptr) return 1;
    const Block bits = threefry(
        dropout.source.key,
        {number[i] * static_cast<uint32_t>(a.heads) + static_cast<uint32_t>(head),
         (static_cast<uint32_t>(position[i]) << 14) | static_cast<uint32_t>(position[j] >> 2)});
    const int lane = position[j] & 3;
    const uint32_t drawn = (bits[lane / 2] >> (16 * (lane & 1))) & 0xffff;
    return drawn >= 13107 ? 1 / (1 - 13107 / 65536.0) : 0;
  }
};

struct Results {
  std::vector<double> y, lse, dq, dk, dv;
};

Results plain(const Scene& s) {
  const int64_t n = s.a.rows * s.a.slots, width = s.a.width, depth = width / s.a.heads;
  Results r;
  r.y.resize(n * width), r.dq = r.dk = r.dv = r.y, r.lse.resize(n * s.a.heads);
  const double scale = 1 / std::sqrt(static_cast<double>(depth));
  for (int64_t h = 0; h < s.a.heads; ++h) {
    for (int64_t i = 0; i < n; ++i) {
      if (s.example[i] < 0) continue;
      std::vector<double> p(n), dp(n);
      double sum = 0, mean = 0;
      const auto usable = [&](int64_t j) { return s.example[j] == s.example[i] && s.is_key[j]; };
      for (int64_t j = 0; j < n; ++j) {
        if (!usable(j)) continue;
        for (int64_t d = h * depth; d < (h + 1) * depth; ++d) {
          p[j] += scale * s.q[i * width + d] * s.k[j * width + d];
          dp[j] += double{s.dy[i * width + d]} * s.v[j * width + d];
        }
        p[j] = std::exp(p[j]), dp[j] *= s.kept(i, j, h), sum += p[j];
      }
      r.lse[(i / s.a.slots * s.a.heads + h) * s.a.slots + i % s.a.slots] = std::log(sum);
      for (int64_t j = 0; j < n; ++j) p[j] /= sum, mean += p[j] * dp[j];
      for (int64_t j = 0; j < n; ++j) {
        if (!usable(j)) continue;
        const double kept = p[j] * s.kept(i, j, h), ds = scale * p[j] * (dp[j] - mean);
        for (int64_t d = h * depth; d < (h + 1) * depth; ++d) {
          r.y[i * width + d] += kept * s.v[j * width + d];
          r.dv[j * width + d] += kept * s.dy[i * width + d];
          r.dq[i * width + d] += ds * s.k[j * width + d];
          r.dk[j * width + d] += ds * s.q[i * width + d];
        }
      }
    }
  }
  return r;
}

void expect_equal(const TestValues& got, const std::vector<double>& want, const char* what) {
  SCOPED_TRACE(what);
  for (size_t i = 0; i < want.size(); ++i) {
    // Sums over a few hundred products of inputs or intermediate values rounded to bf16.
    const double allowed = got.dtype == DType::bf16 ? 0.03 : 1e-5;
    ASSERT_NEAR(got.numbers[i], want[i], allowed * (1 + std::fabs(want[i]))) << "at " << i;
  }
}

void expect_plain(Scene& s) {
  const Results want = plain(s);
  const int64_t count = static_cast<int64_t>(want.y.size());
  TestValues y(count, 5, s.a.dtype), dq = y, dk = y, dv = y, lse(want.lse.size(), 6);
  attention(s.a, y.data(), lse.numbers.data());
  attention_grad(s.a, y.data(), lse.numbers.data(), s.dy.data(), dq.data(), dk.data(), dv.data());
  expect_equal(y.read(), want.y, "y");
  expect_equal(lse, want.lse, "lse");
  expect_equal(dv.read(), want.dv, "dv");
  expect_equal(dq.read(), want.dq, "dq");
  expect_equal(dk.read(), want.dk, "dk");
}

TEST(Attention, EqualsPlainLoops) {
  on_each_instruction_set([] {
    for (DType dtype : {DType::f32, DType::bf16}) {
      for (bool dropout : {false, true}) {
        Scene small({1, 5, 32, 33}, 2, 8, dtype, dropout);
        expect_plain(small);
        Scene odd({13, 40}, 3, 20, dtype, dropout, 6);
        expect_plain(odd);
      }
    }
  });
}

TEST(Attention, TakesQueriesInBlocks) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    Scene s({300}, 1, 64, dtype, true);
    expect_plain(s);
  }
}

TEST(Attention, DrawsByPositionEvenOutOfOrder) {
  Scene s({30}, 2, 16, DType::f32, true);
  std::swap(s.position[3], s.position[20]);
  expect_plain(s);
}

TEST(Attention, GivesZerosWithoutKeys) {
  Scene s({10}, 2, 16, DType::f32, false);
  std::fill(s.is_key.begin(), s.is_key.end(), 0);
  std::vector<float> y(s.q.numbers.size(), NAN), dq = y, dk = y, dv = y, lse(44, NAN);
  attention(s.a, y.data(), lse.data());
  attention_grad(s.a, y.data(), lse.data(), s.dy.data(), dq.data(), dk.data(), dv.data());
  for (const auto* x : {&y, &dq, &dk, &dv, &lse}) {
    for (float value : *x) ASSERT_EQ(value, 0);
  }
}

TEST(Attention, DoesNotDependOnThreads) {
  Scene s({50, 70, 3}, 4, 16, DType::f32, true);
  std::vector<float> y[2], dk[2];
  const int before = omp_get_max_threads();
  for (int i = 0; i < 2; ++i) {
    omp_set_num_threads(1 + 2 * i);
    y[i].resize(s.q.numbers.size()), dk[i] = y[i];
    std::vector<float> dq = y[i], dv = y[i], lse(y[i].size());
    attention(s.a, y[i].data(), lse.data());
    attention_grad(s.a, y[i].data(), lse.data(), s.dy.data(), dq.data(), dk[i].data(), dv.data());
  }
  omp_set_num_threads(before);
  EXPECT_EQ(y[0], y[1]);
  EXPECT_EQ(dk[0], dk[1]);
}

}  // namespace
}  // namespace bertrain
