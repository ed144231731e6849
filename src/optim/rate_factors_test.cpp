// Which part of a model learns how fast, and what --freeze and --layer_decay refuse.
#include "optim/rate_factors.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/error.h"

namespace bertrain {
namespace {

constexpr const char* kEmbedding = "bert/embeddings/word_embeddings";
constexpr const char* kPooler = "bert/pooler/dense/kernel";
std::string layer(int64_t i) {
  return "bert/encoder/layer_" + std::to_string(i) + "/output/dense/kernel";
}

TEST(RateFactors, NothingSaidIsTheWholeRateForAll) {
  RateFactors factors = parse_rate_factors("", 1, 12);
  for (const std::string& name : {std::string(kEmbedding), layer(0), layer(11),
                                  std::string(kPooler), std::string("output_weights")}) {
    EXPECT_EQ(rate_factor(factors, name), 1) << name;
  }
}

TEST(RateFactors, PartsAreFrozenByName) {
  RateFactors some = parse_rate_factors("embeddings,0-8,10", 1, 12);
  EXPECT_EQ(rate_factor(some, kEmbedding), 0);
  EXPECT_EQ(rate_factor(some, layer(0)), 0);
  EXPECT_EQ(rate_factor(some, layer(8)), 0);
  EXPECT_EQ(rate_factor(some, layer(9)), 1);
  EXPECT_EQ(rate_factor(some, layer(10)), 0);
  EXPECT_EQ(rate_factor(some, layer(11)), 1);
  EXPECT_EQ(rate_factor(some, kPooler), 1);
  RateFactors all = parse_rate_factors("encoder", 1, 12);
  for (const std::string& name :
       {std::string(kEmbedding), layer(0), layer(11), std::string(kPooler)}) {
    EXPECT_EQ(rate_factor(all, name), 0) << name;
  }
  EXPECT_EQ(rate_factor(all, "output_weights"), 1);
  EXPECT_EQ(rate_factor(all, "cls/predictions/output_bias"), 1);
  EXPECT_EQ(rate_factor(parse_rate_factors("pooler", 1, 12), kPooler), 0);
}

TEST(RateFactors, RatesFallFromTheHeadDown) {
  RateFactors factors = parse_rate_factors("1", 0.5, 4);
  EXPECT_EQ(rate_factor(factors, "output_bias"), 1);
  EXPECT_EQ(rate_factor(factors, kPooler), 1);
  EXPECT_EQ(rate_factor(factors, layer(3)), 0.5);
  EXPECT_EQ(rate_factor(factors, layer(2)), 0.25);
  EXPECT_EQ(rate_factor(factors, layer(1)), 0);
  EXPECT_EQ(rate_factor(factors, layer(0)), 0.0625);
  EXPECT_EQ(rate_factor(factors, kEmbedding), 0.03125);
}

TEST(RateFactors, WhatHasNoEffectIsRefused) {
  EXPECT_THROW(parse_rate_factors("", 1e-300, 4), Error) << "nothing is left for the embeddings";
  EXPECT_THROW(parse_rate_factors("", 0.01, 24), Error);
  EXPECT_NO_THROW(parse_rate_factors("", 0.1, 24));
  EXPECT_THROW(parse_rate_factors("encoder", 0.9, 4), Error) << "the head alone learns";
  EXPECT_THROW(parse_rate_factors("embeddings,0-3", 0.9, 4), Error);
  EXPECT_NO_THROW(parse_rate_factors("embeddings,0-2", 0.9, 4));
  EXPECT_THROW(parse_rate_factors("0-999999999999", 1, 4), Error) << "at once";
  std::vector<std::string> without = {kEmbedding, "output_weights"}, with = {kPooler};
  EXPECT_THROW(require_named_parts(parse_rate_factors("pooler", 1, 4), without), Error);
  EXPECT_NO_THROW(require_named_parts(parse_rate_factors("pooler", 1, 4), with));
  EXPECT_NO_THROW(require_named_parts(parse_rate_factors("encoder", 1, 4), without));
}

TEST(RateFactors, WhatIsNoPartIsRefused) {
  for (const char* wrong :
       {"embedding", "0,", ",", "1-", "-1", "3-2", "0-4", "4", "0.5", "99999999999999999999"}) {
    EXPECT_THROW(parse_rate_factors(wrong, 1, 4), Error) << wrong;
  }
  for (double decay : {0.0, -0.5, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(parse_rate_factors("", decay, 4), Error) << decay;
  }
}

}  // namespace
}  // namespace bertrain
