// The AdamW update [Loshchilov & Hutter 2019] of one parameter in one pass.
#pragma once

#include <cstdint>

namespace bertrain {

// m' = β₁ m + (1 − β₁) g s; v' = β₂ v + (1 − β₂) (g s)²; w' = w − decay w − rate m' / (√v' + epsilon), s being `scale`.
// If s is NaN, m, v and w are copied as they are. Each result may take the memory of its old value.
struct AdamWUpdate {
  int64_t count = 0;
  const float *w = nullptr, *g = nullptr, *m = nullptr, *v = nullptr;
  float *new_w = nullptr, *new_m = nullptr, *new_v = nullptr;
  double beta1 = 0.9, beta2 = 0.999;
  float rate = 0, decay = 0, epsilon = 0, scale = 1;
};
void adamw(const AdamWUpdate& u);

}  // namespace bertrain
