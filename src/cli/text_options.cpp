// The text options, and the tokenizer they make.
#include "cli/text_options.h"

#include "base/error.h"
#include "storage/storage.h"
#include "text/byte_bpe_files.h"

namespace bertrain {

void TextOptions::each(OptionVisitor& v) {
  v("vocab_file", vocab_file,
    "vocabulary, one piece a line; or a RoBERTa's tokenizer.json or vocab.json, with what lies "
    "beside");
  v("do_lower_case", do_lower_case,
    "lower-case the text; must be what the vocabulary was made for");
  v("strip_accents", strip_accents, "remove accents; if not given, as do_lower_case");
  v("max_input_chars_per_word", max_input_chars_per_word, "a word of more characters is [UNK]");
  v("special_tokens_in_text", special_tokens_in_text,
    "[MASK], [SEP] and the like in a text are those pieces; else they are text like any other");
}

TokenizerOptions TextOptions::tokenizer_options() const {
  return {.do_lower_case = do_lower_case,
          .strip_accents = strip_accents,
          .max_chars_per_word = max_input_chars_per_word,
          .special_tokens_in_text = special_tokens_in_text};
}

Tokenizer TextOptions::tokenizer(std::initializer_list<std::string_view> required_tokens) const {
  if (vocab_file.empty()) {
    throw usage_error("--vocab_file is needed; bertrain vocab makes one from text");
  }
  if (vocab_file.ends_with(".json")) {
    // transformers calls the files of both kinds so.
    if (vocab_file.ends_with("tokenizer.json")) {
      if (auto pieces = Vocabulary::read_tokenizer(vocab_file, required_tokens)) {
        return Tokenizer(*std::move(pieces), tokenizer_options());
      }
    }
    std::string_view folder = folder_part(vocab_file);
    return Tokenizer(read_byte_bpe(folder.empty() ? "." : without_slashes(folder)),
                     tokenizer_options());
  }
  return Tokenizer(Vocabulary::read(vocab_file, required_tokens), tokenizer_options());
}

}  // namespace bertrain
