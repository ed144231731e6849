// BERT in a TensorFlow 2 checkpoint, under Google's names: found by walking the graph of objects, as
// restoring does there, whatever the root is called and whichever of two spellings was the code's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "checkpoint/checkpoint.h"

namespace bertrain {

// `from` has an object_graph(). Gives encoder and heads as [in, out] kernels and [C, H] output
// weights, slots as …/adam_m and …/adam_v, the optimizer's counter as global_step; what the graph
// has beside them keeps its key. A head of one matrix on the first token is output_weights: whether
// it classifies or marks spans the file does not say; beside a masked LM it is the next sentence's.
// Layouts: TF models of 2.2 and 2.10 (encoder files, classifiers, pre-training); see
// docs/formats/tf_bundle.md. Throws Error naming the file and the object that does not fit.
std::unique_ptr<CheckpointReader> name_objects(std::unique_ptr<CheckpointReader> from);

// Of the attention, by the shapes of its kernels, which TF 2 alone keeps apart by head. `from` is as
// above; nullopt: it has no encoder. An Error where layers differ.
std::optional<int64_t> attention_heads(const CheckpointReader& from);

}  // namespace bertrain
