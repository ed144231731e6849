// Clipping by the global norm [Pascanu et al. 2013], as a factor that the update takes.
#pragma once

#include "tensor/tensor.h"

namespace bertrain {

// clip_norm / max(norm, clip_norm) for the f32 [] norm of all gradients; 1 when clip_norm is 0. NaN
// when the norm is not finite, so that the update leaves every value as it was.
Tensor clip_scale(Tensor norm, double clip_norm);

}  // namespace bertrain
