// What an optimizer is to the training step: slots beside each parameter, scalars from the host,
// and a recorded update.
#pragma once

#include <cstdint>
#include <memory>

#include "tensor/scope.h"

namespace bertrain {

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Whether the parameter is updated. One that is frozen has no slots, no gradient is computed for it,
  // and no norm counts it.
  virtual bool learns(const Parameter& parameter) const = 0;

  // State kept for each parameter, by the suffix of its name in checkpoints: "adam_m" of
  // "bert/pooler/dense/kernel" is stored as "bert/pooler/dense/kernel/adam_m". f32; zero at first.
  virtual Named<Shape> slots(const Parameter& parameter) const = 0;

  // The f32 [] inputs of the update that takes the model from `step` (from 0) to `step` + 1.
  virtual Named<float> scalars(uint64_t step, float rate) const = 0;

  // Records the update of one parameter. `grad` f32 like the parameter, `slots` and `scalars` as
  // named above, `scale` f32 []: the factor that clips the gradient; when it is NaN nothing
  // changes.
  struct Update {
    Tensor param;         // f32, the new value
    Named<Tensor> slots;  // every slot's new value
  };
  virtual Update update(const Parameter& parameter, Tensor grad, const Named<Tensor>& slots,
                        const Named<Tensor>& scalars, Tensor scale) const = 0;
};

}  // namespace bertrain
