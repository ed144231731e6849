// AdamW's host side: what is decayed, and the corrections of each preset.
#include "optim/adamw.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/log.h"

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

TEST(AdamW, EarlyStepsWithoutCorrectionAreLargerThanTheRate) {
  Schedule constant{.peak_rate = 1e-3, .steps = 100, .warmup = 0, .decay = Decay::constant};
  AdamWOptions google = adamw_preset("google");
  // Step 1 moves by 0.1 / sqrt(0.001); the largest ratio of the powers is at step 12.
  LargestStep first = largest_step(google, {.peak_rate = 1e-3, .steps = 1});
  EXPECT_NEAR(first.size, 3.1623e-3, 1e-6);
  LargestStep largest = largest_step(google, constant);
  double expected = (1 - std::pow(0.9, 12)) / std::sqrt(1 - std::pow(0.999, 12));
  EXPECT_EQ(largest.step, 12);
  EXPECT_NEAR(largest.size, 1e-3 * expected, 1e-9);
  google.correction = AdamWOptions::Correction::moments;
  EXPECT_NEAR(largest_step(google, constant).size, 1e-3, 1e-9);
}

TEST(AdamW, WarnsOfStepsThatEndLearning) {
  std::string logged;
  LogSink sink([&](std::string_view line) { logged += line; });
  Schedule schedule{.peak_rate = 1e-3, .steps = 400, .warmup = 40};
  AdamWOptions google = adamw_preset("google");
  warn_of_large_steps(google, schedule);
  EXPECT_NE(logged.find("--bias_correction=moments"), std::string::npos) << logged;
  logged.clear();
  warn_of_large_steps(google, {.peak_rate = 5e-5, .steps = 400, .warmup = 40});
  google.correction = AdamWOptions::Correction::moments;
  warn_of_large_steps(google, schedule);
  EXPECT_EQ(logged, "");
}

}  // namespace
}  // namespace bertrain
