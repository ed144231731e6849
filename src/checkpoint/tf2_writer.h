// TensorFlow 2 checkpoints of BERT from tensors of Google's names: the objects of the official models
// of TensorFlow 2.2 with their graph, so that those programs restore them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "checkpoint/checkpoint.h"

namespace bertrain {

// The writer of PREFIX.index and PREFIX.data-00000-of-00001. What is written at commit() follows from
// the names that came: the encoder alone (root `model`); with output_weights or cls/squad/… a model
// of encoder and head; with cls/predictions/… and cls/seq_relationship/… a pre-training model; with
// …/adam_m and …/adam_v (all or none of a variable's) the optimizer. Its counter is global_step.
// Layers are counted; `heads` is the number of attention heads. Throws Error for a missing tensor,
// one of another shape, and one that the layout has no place for.
std::unique_ptr<CheckpointWriter> create_tf2_checkpoint(std::string_view prefix, int64_t heads);

}  // namespace bertrain
