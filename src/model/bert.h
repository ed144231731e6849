// The encoder of BERT [Devlin et al. 2019, section 3]: token ids of whole examples to hidden
// vectors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/config.h"
#include "tensor/scope.h"

namespace bertrain {

// The slots of one micro-batch, each [R, S]; see data/packer.h.
struct Slots {
  Tensor input_ids;    // i32
  Tensor segment_ids;  // i32
  Tensor position;     // i32, in the example
  Tensor example;      // i32, −1 where the slot is empty
  Tensor is_key;       // i32, 0: never attended to
  Tensor number;       // u32, of the example in the global batch
};

// What the parameters are called: names and shapes are those of the TF 1 checkpoints; kernels are
// [in, out]. The word table is also marked: Recording::marked(kWordRows) are the rows gathered from
// it, [R, S, H].
inline constexpr std::string_view kWordTable = "bert/embeddings/word_embeddings";
inline constexpr std::string_view kWordRows = "word_embedding_rows";

// Outside training Recording::marked(layer_output_name(n)) is what layer n, from 0, gives.
std::string layer_output_name(int64_t layer);

// Hidden vectors [R, S, H] in the compute type. `root` is the scope that holds bert/. Rows of empty
// slots are finite and mean nothing.
Tensor bert(const Scope& root, const BertConfig& config, const Slots& slots);

}  // namespace bertrain
