// AdamW (Loshchilov & Hutter 2019) as each of the reference programs has it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "optim/optimizer.h"
#include "optim/rate_factors.h"
#include "optim/schedule.h"

namespace bertrain {

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.01;
  // Bias correction: none (Google's TF 1 code); of the rate alone, epsilon as it is (Keras, TF 2);
  // of both moments, so that epsilon meets the corrected one (the paper, PyTorch).
  enum class Correction { none, rate, moments } correction = Correction::none;
  // A parameter whose name holds one of these is not decayed.
  std::vector<std::string> undecayed = {"LayerNorm", "layer_norm", "bias"};
  RateFactors factors = {};  // of rate and decay, by the parameter's place in the model
};

// The settings of a preset: google, tf2, hf, jestimator, intel. Throws a usage error for another.
AdamWOptions adamw_preset(std::string_view preset);

bool is_decayed(const AdamWOptions& options, std::string_view parameter);

// The largest step that a gradient which stays the same makes, and when. Without bias correction the
// mean square lags behind, so that early steps are several times the rate.
struct LargestStep {
  double size = 0;
  int64_t step = 0;
};
LargestStep largest_step(const AdamWOptions& options, const Schedule& schedule);

// Warns where early steps are so large that a new model tends to stop learning anything but how
// frequent each word is (docs/results.md).
void warn_of_large_steps(const AdamWOptions& options, const Schedule& schedule);

// Slots adam_m and adam_v; scalars rate, decay, epsilon.
std::unique_ptr<Optimizer> make_adamw(const AdamWOptions& options);

}  // namespace bertrain
