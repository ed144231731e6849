// AdamW: what each reference program decays and corrects, and its recorded update.
#include "optim/adamw.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

class AdamW : public Optimizer {
 public:
  explicit AdamW(const AdamWOptions& options) : options_(options) {
    auto is_fraction = [](double x) { return x >= 0 && x < 1; };
    if (!is_fraction(options.beta1) || !is_fraction(options.beta2)) {
      throw usage_error("AdamW with betas {} and {}: 0 ≤ beta < 1 expected", options.beta1,
                        options.beta2);
    }
    if (!(options.epsilon > 0) || !(options.weight_decay >= 0)) {
      throw usage_error("AdamW with epsilon {} and weight decay {}: positive values expected",
                        options.epsilon, options.weight_decay);
    }
  }

  bool learns(const Parameter& parameter) const override {
    return rate_factor(options_.factors, parameter.name) > 0;
  }

  Named<Shape> slots(const Parameter& parameter) const override {
    if (!learns(parameter)) return {};
    return {{"adam_m", parameter.shape}, {"adam_v", parameter.shape}};
  }

  Named<float> scalars(uint64_t step, float rate) const override {
    double t = static_cast<double>(step) + 1;
    double first = 1 - std::pow(options_.beta1, t);
    double second = std::sqrt(1 - std::pow(options_.beta2, t));
    double corrected = rate, epsilon = options_.epsilon;
    if (options_.correction != AdamWOptions::Correction::none) corrected *= second / first;
    // m/first / (√v/second + ε) = (second/first) m / (√v + second ε)
    if (options_.correction == AdamWOptions::Correction::moments) epsilon *= second;
    return {{"rate", static_cast<float>(corrected)},
            {"decay", static_cast<float>(rate * options_.weight_decay)},
            {"epsilon", static_cast<float>(epsilon)}};
  }

  Update update(const Parameter& parameter, Tensor grad, const Named<Tensor>& slots,
                const Named<Tensor>& scalars, Tensor scale) const override {
    Tensor rate = scalars.at("rate"), decay = scalars.at("decay");
    // Recorded only where it is asked for, so that other programs stay as they are.
    if (options_.factors.layer_decay != 1) {
      auto number = static_cast<float>(rate_factor(options_.factors, parameter.name));
      Tensor factor = full(grad.graph(), {}, number);
      rate = rate * factor;
      decay = decay * factor;
    }
    if (!is_decayed(options_, parameter.name)) decay = full(grad.graph(), {}, 0);
    Updated u = adamw(parameter.master, grad, slots.at("adam_m"), slots.at("adam_v"), rate, decay,
                      scalars.at("epsilon"), scale, options_.beta1, options_.beta2);
    return {u.param, {{"adam_m", u.m}, {"adam_v", u.v}}};
  }

 private:
  AdamWOptions options_;
};

}  // namespace

AdamWOptions adamw_preset(std::string_view preset) {
  AdamWOptions options;
  if (preset == "google" || preset == "intel") return options;
  if (preset == "tf2") {
    options.correction = AdamWOptions::Correction::rate;
  } else if (preset == "hf") {
    // torch.optim.AdamW with the defaults of transformers' Trainer.
    options.correction = AdamWOptions::Correction::moments;
    options.epsilon = 1e-8;
    options.weight_decay = 0;
  } else if (preset == "jestimator") {
    // optax.adamw, which decays every variable.
    options.correction = AdamWOptions::Correction::moments;
    options.epsilon = 1e-8;
    options.undecayed = {};
  } else {
    throw usage_error("preset \"{}\": google, tf2, hf, jestimator or intel expected", preset);
  }
  return options;
}

bool is_decayed(const AdamWOptions& options, std::string_view parameter) {
  return std::none_of(
      options.undecayed.begin(), options.undecayed.end(),
      [&](const std::string& part) { return parameter.find(part) != std::string_view::npos; });
}

std::unique_ptr<Optimizer> make_adamw(const AdamWOptions& options) {
  return std::make_unique<AdamW>(options);
}

LargestStep largest_step(const AdamWOptions& options, const Schedule& schedule) {
  LargestStep largest;
  auto look_at = [&](int64_t step) {
    double size = rate_at(schedule, static_cast<uint64_t>(step - 1));
    if (options.correction == AdamWOptions::Correction::none) {
      auto power = static_cast<double>(step);
      size *= (1 - std::pow(options.beta1, power)) / std::sqrt(1 - std::pow(options.beta2, power));
    }
    if (size > largest.size) largest = {size, step};
  };
  // Later on both means have caught up, and the rate alone decides: it is largest after warm-up.
  for (int64_t step = 1; step <= std::min<int64_t>(schedule.steps, 20000); ++step) look_at(step);
  if (schedule.warmup < schedule.steps) look_at(schedule.warmup + 1);
  return largest;
}

void warn_of_large_steps(const AdamWOptions& options, const Schedule& schedule) {
  constexpr double kLarge = 4e-3;  // steps of 4.9e-3 and 1.1e-2 ended learning, 3e-3 did not
  if (options.correction != AdamWOptions::Correction::none) return;
  LargestStep largest = largest_step(options, schedule);
  if (largest.size < kLarge) return;
  log_warning(
      "without bias correction step {} changes weights by up to {:.1e}, {:.1f} times the peak "
      "rate: a new model may stop learning there; --bias_correction=moments, a lower "
      "--learning_rate or a longer warm-up avoids it",
      largest.step, largest.size, largest.size / schedule.peak_rate);
}

}  // namespace bertrain
