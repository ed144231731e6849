// Scopes: parameters declared once and shared, keys fresh at each use, first values the same bits
// at any number of threads.
#include "tensor/scope.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"

namespace bertrain {
namespace {

TEST(Scope, DeclaresParametersAtFirstUse) {
  Recording r({});
  Scope s = r.scope() / "bert" / "pooler";
  Tensor w = s.param("kernel", {2, 3}, {Init::truncated_normal, 0.02});
  EXPECT_EQ(s.param("kernel", {2, 3}, {Init::truncated_normal, 0.02}), w);
  EXPECT_THROW(s.param("kernel", {3, 2}, {}), Error);
  r.scope().param("bias", {3}, {});
  ASSERT_EQ(r.parameters().size(), 2u);
  EXPECT_EQ(r.parameters()[0].name, "bert/pooler/kernel");
  EXPECT_EQ(r.parameters()[1].name, "bias");
  EXPECT_EQ(r.graph().find_input("bert/pooler/kernel"), w);
}

TEST(Scope, GivesParametersInTheComputeType) {
  Recording r({.training = false, .compute = DType::bf16});
  Tensor w = r.scope().param("w", {2}, {});
  EXPECT_EQ(w.dtype(), DType::bf16);
  EXPECT_EQ(r.parameters()[0].master.dtype(), DType::f32);
  EXPECT_EQ(r.scope().param("w", {2}, {}), w);
}

TEST(Scope, GivesFreshDropoutKeysInTrainingOnly) {
  Recording r({.training = true});
  Scope s = r.scope() / "a";
  EXPECT_NE(s.dropout_key(), s.dropout_key());
  ASSERT_EQ(r.dropout_keys().size(), 2u);
  EXPECT_EQ(r.dropout_keys()[1].input, "dropout_key/a/1");
  EXPECT_EQ(r.dropout_keys()[1].call, 1u);
  Recording still({});
  EXPECT_FALSE(still.scope().dropout_key());
}

TEST(DropoutKeyValue, IsAFunctionOfSeedStepPathAndCall) {
  DropoutKey key{"dropout_key/a/0", "a", 0};
  Block block = threefry(key_of(7, "a", 0), {5, 1});
  Array value = dropout_key_value(key, 7, (uint64_t{1} << 32) + 5);
  EXPECT_EQ(value.as<uint32_t>()[0], block[0]);
  EXPECT_EQ(value.as<uint32_t>()[1], block[1]);
}

TEST(InitialValue, HasTheSameBitsAtAnyNumberOfThreads) {
  Parameter p{"w", {101, 7}, {Init::truncated_normal, 0.02}, {}};
  int before = omp_get_max_threads();
  omp_set_num_threads(1);
  Array one = initial_value(p, 3);
  omp_set_num_threads(2);
  Array two = initial_value(p, 3);
  omp_set_num_threads(before);
  EXPECT_TRUE(std::equal(one.raw().begin(), one.raw().end(), two.raw().begin()));
  double squares = 0;
  for (float v : one.as<float>()) {
    EXPECT_LE(std::fabs(v), 0.04f);
    squares += double{v} * v;
  }
  EXPECT_NEAR(std::sqrt(squares / 707), 0.0176, 0.002);  // cut at two deviations: 0.88 of 0.02
  EXPECT_EQ(one.as<float>()[5], static_cast<float>(truncated_normal(key_of(3, "w", 0), 5) * 0.02));
  p.init = {Init::ones};
  EXPECT_EQ(initial_value(p, 3).as<float>()[706], 1.0f);
}

TEST(Scope, GuardsNestAndCarryThePath) {
  Recording r({});
  Scope s = r.scope() / "a";
  {
    auto outer = s.enter();
    {
      auto inner = (s / "b").enter();
      EXPECT_EQ(r.graph().input("x", {DType::f32, {}}).node()->scope, "a/b");
    }
    EXPECT_EQ(r.graph().input("y", {DType::f32, {}}).node()->scope, "a");
  }
  EXPECT_EQ(r.graph().input("z", {DType::f32, {}}).node()->scope, "");
}

}  // namespace
}  // namespace bertrain
