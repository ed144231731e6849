// The files by which the libraries of Hugging Face rebuild a BERT tokenizer.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "checkpoint/model_folder.h"

namespace bertrain {

// Name and content of tokenizer.json, tokenizer_config.json and special_tokens_map.json. Throws
// Error when the vocabulary lacks [UNK], [CLS] or [SEP], without which there is no such tokenizer.
std::vector<std::pair<std::string, Json>> tokenizer_files(const ModelFolder& folder);

// Role and token of each special token of a BERT or RoBERTa: {"unk_token", "[UNK]"} …
std::vector<std::pair<std::string, std::string>> special_tokens(bool roberta);

std::string vocabulary_text(const std::vector<std::string>& tokens);  // one a line

}  // namespace bertrain
