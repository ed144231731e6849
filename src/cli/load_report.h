// Starting a model from a checkpoint, and saying what came of each name.
#pragma once

#include <string>

#include "train/state.h"

namespace bertrain {

// Loads parameters into an initialised state and logs, with counts and names, which were loaded,
// which are new (heads and pooler may be) and which tensors of the file were not used. A missing
// weight of the encoder is an Error that lists all that are missing, and so are layers that the model
// has no place for. Evaluation asks for `complete`:
// then nothing may be new. With `new_head` (its labels are others) the head starts anew although its
// shape would fit.
void load_weights(State& state, const std::string& uri, bool complete, bool new_head = false);

}  // namespace bertrain
