// AdamW's host side: what is decayed, and the corrections of each preset.
#include "optim/adamw.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace bertrain {
namespace {

TEST(AdamW, NeitherNormsNorBiasesAreDecayed) {
  AdamWOptions google = adamw_preset("google");
  EXPECT_TRUE(is_decayed(google, "bert/embeddings/word_embeddings"));
  EXPECT_TRUE(is_decayed(google, "output_weights"));
  EXPECT_FALSE(is_decayed(google, "bert/embeddings/LayerNorm/gamma"));
  EXPECT_FALSE(is_decayed(google, "cls/predictions/output_bias"));
  EXPECT_FALSE(is_decayed(google, "bert/encoder/layer_0/attention/self/query/bias"));
  EXPECT_TRUE(is_decayed(adamw_preset("jestimator"), "bert/embeddings/LayerNorm/gamma"));
}

TEST(AdamW, GoogleCorrectsNothing) {
  Named<float> s = make_adamw(adamw_preset("google"))->scalars(0, 1e-3F);
  EXPECT_FLOAT_EQ(s.at("rate"), 1e-3F);
  EXPECT_FLOAT_EQ(s.at("decay"), 1e-5F);
  EXPECT_FLOAT_EQ(s.at("epsilon"), 1e-6F);
}

TEST(AdamW, Tf2CorrectsTheRateAndLeavesEpsilon) {
  Named<float> s = make_adamw(adamw_preset("tf2"))->scalars(2, 1e-3F);
  double expected = 1e-3 * std::sqrt(1 - std::pow(0.999, 3)) / (1 - std::pow(0.9, 3));
  EXPECT_FLOAT_EQ(s.at("rate"), static_cast<float>(expected));
  EXPECT_FLOAT_EQ(s.at("decay"), 1e-5F);
  EXPECT_FLOAT_EQ(s.at("epsilon"), 1e-6F);
}

TEST(AdamW, HuggingFaceCorrectsBothMoments) {
  AdamWOptions options = adamw_preset("hf");
  options.weight_decay = 0.1;
  Named<float> s = make_adamw(options)->scalars(2, 1e-3F);
  // One number through the textbook's formula and through rate and epsilon.
  double m = 0.3, v = 0.02, first = 1 - std::pow(0.9, 3), second = 1 - std::pow(0.999, 3);
  double textbook = 1e-3 * (m / first) / (std::sqrt(v / second) + 1e-8);
  EXPECT_NEAR(s.at("rate") * m / (std::sqrt(v) + s.at("epsilon")), textbook, 1e-9);
  EXPECT_FLOAT_EQ(s.at("decay"), 1e-4F);
}

TEST(AdamW, RefusesValuesThatWouldDiverge) {
  EXPECT_THROW(make_adamw({.beta1 = 1}), Error);
  EXPECT_THROW(make_adamw({.beta2 = -0.1}), Error);
  EXPECT_THROW(make_adamw({.epsilon = 0}), Error);
  EXPECT_THROW(make_adamw({.weight_decay = -1}), Error);
  EXPECT_THROW(adamw_preset("pytorch"), Error);
}

}  // namespace
}  // namespace bertrain
