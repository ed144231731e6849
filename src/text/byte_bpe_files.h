// The files of a byte-level BPE tokenizer: tokenizer.json, or vocab.json and merges.txt
// (docs/formats/byte_bpe.md).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/byte_bpe.h"

namespace bertrain {

// Reads a folder's tokenizer.json, else its vocab.json, merges.txt and added_tokens.json; its
// tokenizer_config.json says the rest. Throws Error naming the file and the line or key of what is
// missing, damaged, or would cut text in a way that is not done here (another normalizer, model, …).
ByteBpeModel read_byte_bpe(std::string_view folder);

// Name and content of tokenizer.json, vocab.json, merges.txt, tokenizer_config.json and
// special_tokens_map.json, from which transformers makes this tokenizer; max_length is that of an
// example.
std::vector<std::pair<std::string, std::string>> byte_bpe_files(const Tokenizer& tokenizer,
                                                                int64_t max_length);

}  // namespace bertrain
