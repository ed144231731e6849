// A checkpoint whose f16 and bf16 tensors are read as f32, which is what models are computed from.
#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"

namespace bertrain {

// Every value is kept: both are subsets of f32.
std::unique_ptr<CheckpointReader> widen_floats(std::unique_ptr<CheckpointReader> from);

}  // namespace bertrain
