// TensorFlow 2 checkpoints of BERT from tensors of Google's names: the objects of the official models
// of TensorFlow 2.2 with their graph, so that those programs restore them.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "checkpoint/checkpoint.h"

namespace bertrain {

// PREFIX.index and PREFIX.data-00000-of-00001 of all tensors of `from`, read one at a time. What is
// written follows from their names: the encoder alone (root `model`); with output_weights or
// cls/squad/… a model of encoder and head; with cls/predictions/… and cls/seq_relationship/… a
// pre-training model; with …/adam_m and …/adam_v (both or none of a variable's) the optimizer, whose
// counter is global_step. Layers are counted; `heads` is the number of attention heads. Throws Error
// for a missing tensor, one of another shape, and one that the layout has no place for; nothing is
// written then.
// `before_commit` is called when all is on the device and nothing has its name yet.
void write_tf2_checkpoint(std::string_view prefix, const CheckpointReader& from, int64_t heads,
                          const std::function<void()>& before_commit = {});

}  // namespace bertrain
