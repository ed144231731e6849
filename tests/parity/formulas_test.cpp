// Composites against their formulas in double on the host: expansions are the oracle of the
// backends, so they need one of their own.
#include <gtest/gtest.h>

#include <cmath>

#include "run.h"

namespace bertrain {
namespace {

std::vector<std::vector<double>> values_of(const std::vector<Array>& inputs, const Record& record) {
  std::vector<std::vector<double>> all;
  for (const Array& a :
       run(*make_reference_backend(), record_case({nullptr, inputs, record, {}, {}}, false))) {
    all.push_back(numbers(a));
  }
  return all;
}

TEST(Formulas, ErfIsExactToF32) {
  std::vector<float> x;
  for (int i = -60000; i <= 60000; ++i) x.push_back(static_cast<float>(i) * 1e-4f);
  x.insert(x.end(), {1e-30f, -1e-30f, 100, -100, 0});
  Array in = make_array<float>({static_cast<int64_t>(x.size())}, x);
  auto y = values_of({in}, [](Graph&, const Tensors& t) { return Tensors{erf(t[0])}; })[0];
  for (size_t i = 0; i < x.size(); ++i) {
    double exact = std::erf(static_cast<double>(x[i]));
    ASSERT_NEAR(y[i], exact, 5e-7 * std::fabs(exact)) << x[i];
  }
}

TEST(Formulas, Gelus) {
  Array in = Values(1).uniform(DType::f32, {2000}, -6, 6);
  auto y = values_of({in}, [](Graph&, const Tensors& t) {
    return Tensors{gelu(t[0]), gelu_erf(t[0])};
  });
  std::vector<double> x = numbers(in);
  for (size_t i = 0; i < x.size(); ++i) {
    double u = std::sqrt(2 / std::acos(-1.0)) * (x[i] + 0.044715 * x[i] * x[i] * x[i]);
    ASSERT_NEAR(y[0][i], 0.5 * x[i] * (1 + std::tanh(u)), 1e-6);
    ASSERT_NEAR(y[1][i], 0.5 * x[i] * (1 + std::erf(x[i] / std::sqrt(2.0))), 2e-6);
  }
}

TEST(Formulas, AddAndNorm) {
  Values v(2);
  constexpr size_t kRows = 3, kColumns = 7;
  Array x = v.normal(DType::f32, {kRows, kColumns}), f = v.normal(DType::f32, {kRows, kColumns});
  Array gamma = v.normal(DType::f32, {kColumns}), beta = v.normal(DType::f32, {kColumns});
  auto y = values_of({x, f, gamma, beta}, [](Graph&, const Tensors& t) {
    AddedNormed n = add_and_norm(t[0], t[1], t[2], t[3], {}, 1e-3);
    return Tensors{n.y, n.z, n.mean, n.rstd};
  });
  auto a = numbers(x), b = numbers(f), g = numbers(gamma), s = numbers(beta);
  for (size_t r = 0; r < kRows; ++r) {
    double mean = 0, variance = 0;
    for (size_t c = r * kColumns; c < (r + 1) * kColumns; ++c) mean += (a[c] + b[c]) / kColumns;
    for (size_t c = r * kColumns; c < (r + 1) * kColumns; ++c) {
      variance += (a[c] + b[c] - mean) * (a[c] + b[c] - mean) / kColumns;
    }
    double rstd = 1 / std::sqrt(variance + 1e-3);
    EXPECT_NEAR(y[2][r], mean, 1e-6);
    EXPECT_NEAR(y[3][r], rstd, 1e-5);
    for (size_t c = 0; c < kColumns; ++c) {
      size_t i = r * kColumns + c;
      EXPECT_NEAR(y[1][i], a[i] + b[i], 1e-6);
      EXPECT_NEAR(y[0][i], (a[i] + b[i] - mean) * rstd * g[c] + s[c], 1e-5);
    }
  }
}

TEST(Formulas, AttentionIsThatOfEachExampleAlone) {
  constexpr size_t kSlots = 9, kHeads = 2, kHead = 3, kColumns = kHeads * kHead;
  Values v(3);
  Slots s = packed_slots(1, kSlots, {5, 3});
  Shape shape = {1, kSlots, kColumns};
  std::vector<Array> in = {v.normal(DType::f32, shape), v.normal(DType::f32, shape),
                           v.normal(DType::f32, shape), s.example, s.is_key};
  auto y = values_of(in, [](Graph&, const Tensors& t) {
    Attended a = attention(t[0], t[1], t[2], kHeads, t[3], t[4], {});
    return Tensors{a.y, a.lse};
  });
  auto q = numbers(in[0]), k = numbers(in[1]), w = numbers(in[2]);
  auto example = s.example.as<int32_t>(), is_key = s.is_key.as<int32_t>();
  for (size_t i = 0; i < kSlots; ++i) {
    for (size_t h = 0; h < kHeads; ++h) {
      std::vector<double> sum(kHead, 0);
      double total = 0;
      for (size_t j = 0; j < kSlots; ++j) {
        if (example[i] < 0 || example[j] != example[i] || !is_key[j]) continue;
        double score = 0;
        for (size_t d = 0; d < kHead; ++d) {
          score += q[i * kColumns + h * kHead + d] * k[j * kColumns + h * kHead + d];
        }
        double e = std::exp(score / std::sqrt(static_cast<double>(kHead)));
        total += e;
        for (size_t d = 0; d < kHead; ++d) sum[d] += e * w[j * kColumns + h * kHead + d];
      }
      for (size_t d = 0; d < kHead; ++d) {
        double found = y[0][i * kColumns + h * kHead + d];
        EXPECT_NEAR(found, example[i] < 0 ? 0 : sum[d] / total, 1e-6) << i;
      }
      double lse = y[1][h * kSlots + i];
      EXPECT_TRUE(std::isfinite(lse));
      if (example[i] >= 0) {
        EXPECT_NEAR(lse, std::log(total), 1e-6);
      }
    }
  }
}

TEST(Formulas, CrossEntropyTakesTheFirstMaximum) {
  Array logits = make_array<float>({2, 4}, std::vector<float>{1, 3, 3, -200, 500, 2, 0, 500});
  Array label = make_array<int32_t>({2}, std::vector<int32_t>{2, 1});
  auto y = values_of({logits, label}, [](Graph&, const Tensors& t) {
    CrossEntropy c = softmax_cross_entropy(t[0], t[1]);
    return Tensors{c.loss, c.lse, c.argmax};
  });
  double lse = std::log(std::exp(1.0) + 2 * std::exp(3.0));
  EXPECT_NEAR(y[1][0], lse, 1e-6);
  EXPECT_NEAR(y[0][0], lse - 3, 1e-6);
  EXPECT_NEAR(y[0][1], 498 + std::log(2), 1e-4);
  EXPECT_EQ(y[2], (std::vector<double>{1, 0}));
}

TEST(Formulas, NaNLogitsChooseAClassThatThereIs) {
  Array logits = make_array<float>({1, 3}, std::vector<float>{1, std::nanf(""), 0});
  auto y = values_of({logits, zeros({DType::i32, {1}})}, [](Graph&, const Tensors& t) {
    CrossEntropy c = softmax_cross_entropy(t[0], t[1]);
    return Tensors{c.loss, c.argmax};
  });
  EXPECT_TRUE(std::isnan(y[0][0]));
  EXPECT_LT(y[1][0], 3);
}

TEST(Formulas, AdamW) {
  auto f = [](float v) { return make_array<float>({1}, std::vector<float>{v}); };
  std::vector<Array> in = {f(2), f(0.5f), f(0.1f), f(0.04f)};
  for (float setting : {0.3f, 0.01f, 1e-6f, 0.8f}) in.push_back(scalar<float>(setting));
  Record record = [](Graph&, const Tensors& t) {
    Updated u = adamw(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], 0.9, 0.999);
    return Tensors{u.param, u.m, u.v};
  };
  auto y = values_of(in, record);
  double m = 0.9 * 0.1 + 0.1 * 0.4, v = 0.999 * 0.04 + 0.001 * 0.16;
  EXPECT_NEAR(y[1][0], m, 1e-7);
  EXPECT_NEAR(y[2][0], v, 1e-8);
  EXPECT_NEAR(y[0][0], 2 - 0.01 * 2 - 0.3 * m / (std::sqrt(v) + 1e-6), 1e-6);
  in[7] = scalar<float>(std::nanf(""));
  in[1] = f(std::nanf(""));
  y = values_of(in, record);
  EXPECT_EQ(y[0][0], 2.0) << "a bad step leaves everything as it was";
  EXPECT_EQ(y[1][0], static_cast<double>(0.1f));
  EXPECT_EQ(y[2][0], static_cast<double>(0.04f));
}

}  // namespace
}  // namespace bertrain
