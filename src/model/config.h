// The shape of a BERT or RoBERTa [Liu et al. 2019], as bert_config.json or config.json says it. Letters: B batch, R rows, S slots, E examples,
// M masked positions, H hidden, N heads, D = H/N, F intermediate, V vocabulary, P positions, T
// types, C classes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace bertrain {

enum class Activation { none, gelu_tanh, gelu_erf, relu, tanh };

// Whose names and files a model has, and whose classifier: what follows from it is in names, heads
// and the tokenizer; the encoder does not ask.
enum class Family { bert, roberta };

struct BertConfig {
  Family family = Family::bert;
  int64_t vocab_size = 0;
  int64_t hidden_size = 768;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 12;
  int64_t intermediate_size = 3072;
  Activation hidden_act =
      Activation::gelu_tanh;  // "gelu" is the tanh form in Google's JSON, erf in Hugging Face's
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  int64_t max_position_embeddings = 512;  // rows of the position table
  // The row of an example's first token. RoBERTa's table starts with rows for padding, which nothing
  // here looks up: 2, so that 514 rows are 512 positions.
  int64_t first_position = 0;
  int64_t type_vocab_size = 16;
  double initializer_range = 0.02;
  double layer_norm_eps = 1e-12;
  bool recompute = false;  // keep only each layer's input for the backward pass

  int64_t positions() const { return max_position_embeddings - first_position; }
};

// Both throw Error that names the key, the value and what was expected (e.g. hidden_size not a
// multiple of heads).
BertConfig config_from_google(const Json& json, std::string_view place);
BertConfig config_from_hugging_face(const Json& json, std::string_view place);
Json config_to_google(const BertConfig& config);
// what transformers.BertConfig or RobertaConfig reads, without task keys
Json config_to_hugging_face(const BertConfig& config);

// Numbers in the encoder's parameters, embeddings and pooler; heads are not counted.
uint64_t parameter_count(const BertConfig& config);

}  // namespace bertrain
