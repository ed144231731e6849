// The place of an answer as two softmaxes over the slots of its example, start and end.
#pragma once

#include "tensor/tensor.h"

namespace bertrain {

struct Spans {
  Tensor loss;                      // f32 [E]: mean of the cross-entropies of start and end
  Tensor start_logits, end_logits;  // f32 [E, length]; kNoSlot beyond the example's slots
};

inline constexpr double kNoSlot = -1e30;  // finite, so that empty examples are, too

// logits f32 [R·S, 2] (span_logits), example i32 [R, S], first_slot, start, end i32 [E], positions
// within the example. `length`: slots of the longest example. The softmax is over all slots that belong to
// the example. Packed, these are its tokens: Σ exp runs over them alone. With
// PackOptions::padded_length its padding is part of it, so that the sum runs over it as well, as in
// run_squad.py, whose loss is a softmax over all max_seq_length logits. Packing cannot give
// those numbers, for what the encoder makes of a padding slot depends on its position and on the whole
// example, so that it must be computed.
Spans spans(Tensor logits, Tensor example, Tensor first_slot, int64_t length, Tensor start,
            Tensor end);

}  // namespace bertrain
