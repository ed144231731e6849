// The shape of a BERT, as bert_config.json says it. Letters: B batch, R rows, S slots, E examples,
// M masked positions, H hidden, N heads, D = H/N, F intermediate, V vocabulary, P positions, T
// types, C classes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace bertrain {

enum class Activation { none, gelu_tanh, gelu_erf, relu, tanh };

struct BertConfig {
  int64_t vocab_size = 0;
  int64_t hidden_size = 768;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 12;
  int64_t intermediate_size = 3072;
  Activation hidden_act =
      Activation::gelu_tanh;  // "gelu" is the tanh form in Google's JSON, erf in Hugging Face's
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  int64_t max_position_embeddings = 512;
  int64_t type_vocab_size = 16;
  double initializer_range = 0.02;
  double layer_norm_eps = 1e-12;
  bool recompute = false;  // keep only each layer's input for the backward pass
};

// Both throw Error that names the key, the value and what was expected (e.g. hidden_size not a
// multiple of heads).
BertConfig config_from_google(const Json& json, std::string_view place);
BertConfig config_from_hugging_face(const Json& json, std::string_view place);
Json config_to_google(const BertConfig& config);
// what transformers.BertConfig reads, without task keys
Json config_to_hugging_face(const BertConfig& config);

// Numbers in the encoder's parameters, embeddings and pooler; heads are not counted.
uint64_t parameter_count(const BertConfig& config);

}  // namespace bertrain
