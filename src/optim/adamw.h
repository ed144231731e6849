// AdamW (Loshchilov & Hutter 2019) as each of the reference programs has it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "optim/optimizer.h"

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
};

// The settings of a preset: google, tf2, hf, jestimator, intel. Throws a usage error for another.
AdamWOptions adamw_preset(std::string_view preset);

bool is_decayed(const AdamWOptions& options, std::string_view parameter);

// Slots adam_m and adam_v; scalars rate, decay, epsilon.
std::unique_ptr<Optimizer> make_adamw(const AdamWOptions& options);

}  // namespace bertrain
