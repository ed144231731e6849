// The learning rate of each step, computed on the host in the float32 arithmetic of the reference
// code.
#pragma once

#include <cstdint>
#include <string_view>

namespace bertrain {

enum class Decay {
  linear,  // Google's and TF 2's: falls from step 0, so that it jumps down where warm-up ends
  linear_after_warmup,  // Hugging Face's: falls from the end of warm-up
  constant,
};

struct Schedule {
  double peak_rate = 5e-5;
  double end_rate = 0;
  int64_t steps = 0;   // of the whole run, at least 1
  int64_t warmup = 0;  // steps of a linear rise from 0; step 0 has rate 0 when this is not 0
  Decay decay = Decay::linear;
};

// Throws a usage error for rates that are negative or not finite and for step counts that make no
// schedule; warns when the rate never reaches its peak because warm-up is longer than the run.
void check_schedule(const Schedule& schedule);

// The rate of the update that takes the model from `step` to `step` + 1. Never negative or NaN;
// steps beyond the end have the end rate.
float rate_at(const Schedule& schedule, uint64_t step);

Decay parse_decay(std::string_view name);  // "linear", "linear_after_warmup", "constant"

}  // namespace bertrain
