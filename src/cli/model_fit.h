// Whether what a model consists of belongs together: weights, configuration, vocabulary and casing, held
// against each other before anything is computed with them.
#pragma once

#include <string>

#include "model/config.h"
#include "text/tokenizer.h"

namespace bertrain {

// Throws Error when the weights know the number of their attention heads (TensorFlow 2's do) and it is
// not the configuration's; `place` has the latter. In all other formats no shape depends on it.
void require_heads(const std::string& weights, const BertConfig& config, const std::string& place);

// Lower-casing, and pieces with capital letters that it never meets: an Error, or a warning where the
// model's own files ask for it (`said`). The other way around a warning.
void require_casing(const Tokenizer& tokenizer, bool said);

// A vocabulary may be shorter than the table, which is often padded to a round number of rows; a
// warning, with both numbers, when it is shorter by more.
void warn_of_spare_rows(const Vocabulary& vocabulary, const BertConfig& config,
                        const std::string& place);

}  // namespace bertrain
