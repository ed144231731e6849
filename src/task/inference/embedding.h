// Vectors of an encoder's layers for lines of text: of each token, or one for each text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/config.h"
#include "task/task.h"
#include "text/tokenizer.h"

namespace bertrain {

// none: a vector for each token; cls: that of the first; mean and max: over all tokens of the text,
// [CLS] and [SEP] among them.
enum class Pooling { none, cls, mean, max };

struct EmbeddingOptions {
  std::string input_file;  // a text a line; "-" is standard input
  std::string invalid_utf8 = "error";
  std::vector<int64_t> layers = {-1};  // of the encoder: 0 … L - 1, or from the end: -1 is the last
  Pooling pooling = Pooling::mean;
  int64_t max_seq_length = 0;  // longer texts are cut; 0: 128, or the model's positions
};

// Split: test. Schema: token_weights f32 [M] (targets are all tokens, of cls the first). Predictions:
// for each layer of the options, in their order, layer_0, layer_1, … f32 [M, H]. There is no loss.
// Rows: `text`; `token`, the pieces; for each layer its number in the options' order `layer_0`, …:
// f32 [tokens · H] or [H]. A layer that the model does not have is a usage error.
std::unique_ptr<Task> make_embedding(const EmbeddingOptions& options, const BertConfig& config,
                                     std::shared_ptr<const Tokenizer> tokenizer);

}  // namespace bertrain
