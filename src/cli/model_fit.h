// Whether what a model consists of belongs together: weights, configuration, vocabulary and casing, held
// against each other before anything is computed with them.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/config.h"
#include "text/tokenizer.h"

namespace bertrain {

// Throws Error when the weights know the number of their attention heads (TensorFlow 2's do) and it is
// not the configuration's; `place` has the latter. In all other formats no shape depends on it.
void require_heads(const std::string& weights, const BertConfig& config, const std::string& place);

// The output layer of a masked LM is its word embeddings here, and its bias the head's: the layers and
// biases of their own in a file of transformers, with other values, and the tensors they should equal.
struct UntiedLayer {
  std::string name, tied;
};
std::vector<UntiedLayer> untied_layers(const CheckpointReader& weights);
// Throws Error naming both tensors when there is one.
void require_tied(const CheckpointReader& weights);

// Positions of a RoBERTa are counted from its configuration's padding on: an Error when that is not its
// vocabulary's.
void require_padding(const Tokenizer& tokenizer, const BertConfig& config,
                     const std::string& place);

// What is given beside a model that has its own. Pieces: the list must be the model's own, or continue
// it, or with `part` be its beginning; and merges be equal. Shapes: what no weight's shape shows, as
// the activation. Else a usage error with what differs on both sides.
void require_same_pieces(const Tokenizer& given, const Tokenizer& own, bool part = false);
// vocab.txt and the tokenizer.json beside it, which other programs read: an Error where one id is two
// pieces. Where the latter goes on, with words that were added or what a cut copy lost, it is the
// vocabulary, with a warning.
Vocabulary longer_vocabulary(Vocabulary vocabulary, const std::string& tokenizer_json);
void require_same_shape(const BertConfig& given, const std::string& file, const BertConfig& own,
                        const std::string& place);

// Lower-casing, and pieces with capital letters that it never meets: an Error, or a warning where the
// model's own files ask for it (`said`). The other way around a warning.
void require_casing(const Tokenizer& tokenizer, bool said);

// A vocabulary may be shorter than the table, which is often padded to a round number of rows; a
// warning, with both numbers, when it is shorter by more.
void warn_of_spare_rows(const Vocabulary& vocabulary, const BertConfig& config,
                        const std::string& place);

}  // namespace bertrain
