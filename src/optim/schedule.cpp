// Learning rates by step: warm-up and decay.
#include "optim/schedule.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/log.h"

namespace bertrain {

void check_schedule(const Schedule& s) {
  if (!std::isfinite(s.peak_rate) || s.peak_rate < 0) {
    throw usage_error("learning_rate {}: a finite rate of at least 0 expected", s.peak_rate);
  }
  if (!std::isfinite(s.end_rate) || s.end_rate < 0) {
    throw usage_error("end learning rate {}: a finite rate of at least 0 expected", s.end_rate);
  }
  if (s.steps < 1) throw usage_error("{} training steps: at least 1 expected", s.steps);
  if (s.warmup < 0) throw usage_error("{} warm-up steps: at least 0 expected", s.warmup);
  if (s.warmup >= s.steps) {
    log_warning(
        "{} warm-up steps for {} training steps: the learning rate ends at {:g} and never reaches "
        "{:g}",
        s.warmup, s.steps, rate_at(s, static_cast<uint64_t>(s.steps - 1)), s.peak_rate);
  }
}

float rate_at(const Schedule& s, uint64_t step) {
  // In float32 and in the order of the reference code, so that the rates are equal to the bit.
  auto peak = static_cast<float>(s.peak_rate), end = static_cast<float>(s.end_rate);
  auto now = static_cast<float>(step);
  if (s.warmup > 0 && step < static_cast<uint64_t>(s.warmup)) {
    return peak * (now / static_cast<float>(s.warmup));
  }
  if (s.decay == Decay::constant) return peak;
  float begin = s.decay == Decay::linear ? 0.0F : static_cast<float>(s.warmup);
  float length = static_cast<float>(s.steps) - begin;
  if (length <= 0) return end;
  float done = std::min(now - begin, length) / length;
  return (peak - end) * (1.0F - done) + end;
}

Decay parse_decay(std::string_view name) {
  if (name == "linear") return Decay::linear;
  if (name == "linear_after_warmup") return Decay::linear_after_warmup;
  if (name == "constant") return Decay::constant;
  throw usage_error("learning rate decay \"{}\": linear, linear_after_warmup or constant expected",
                    name);
}

}  // namespace bertrain
