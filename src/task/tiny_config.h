// The shape of a model that is small enough for a unit test.
#pragma once

#include <cstdint>

#include "model/config.h"

namespace bertrain {

inline BertConfig tiny_config(int64_t vocab_size, int64_t max_positions) {
  BertConfig c;
  c.vocab_size = vocab_size;
  c.hidden_size = 8;
  c.num_hidden_layers = 1;
  c.num_attention_heads = 2;
  c.intermediate_size = 16;
  c.max_position_embeddings = max_positions;
  c.type_vocab_size = 2;
  return c;
}

}  // namespace bertrain
