// The options of every command that tokenizes: which vocabulary, and how text is normalized.
#pragma once

#include <optional>
#include <string>

#include "cli/options.h"
#include "text/tokenizer.h"

namespace bertrain {

struct TextOptions {
  std::string vocab_file;
  bool do_lower_case = true;
  std::optional<bool> strip_accents;
  int64_t max_input_chars_per_word = 200;
  bool special_tokens_in_text = false;

  void each(OptionVisitor& v);
  // Throws a usage error if no vocabulary was named. The tokens are required of a vocab.txt; byte-level
  // BPE has others.
  Tokenizer tokenizer(std::initializer_list<std::string_view> required_tokens) const;
  TokenizerOptions tokenizer_options() const;
};

}  // namespace bertrain
