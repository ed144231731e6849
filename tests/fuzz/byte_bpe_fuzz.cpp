// Any bytes as each file of a byte-level tokenizer, and then as a text that one is to cut.
#include "fuzz_input.h"
#include "text/byte_bpe_files.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

// All bytes, the special tokens and "ab", which is a merge.
ByteBpeModel small_model() {
  std::vector<std::string> tokens = {"<s>", "<pad>", "</s>", "<unk>", "<mask>", "ab"};
  for (int byte = 0; byte < 256; ++byte) {
    append_utf8(byte_character(static_cast<uint8_t>(byte)), tokens.emplace_back());
  }
  Vocabulary vocabulary(std::move(tokens));
  ByteBpeRules rules;
  rules.merges.push_back({vocabulary.id("a"), vocabulary.id("b"), vocabulary.id("ab")});
  for (const char* name : {"<s>", "<mask>"}) {
    AddedToken& token = rules.added.emplace_back();
    token.id = vocabulary.id(name), token.text = name;
    token.special = token.strip_left = token.strip_right = true;
  }
  return {std::move(vocabulary), std::move(rules)};
}

void read_with(const char* name, std::string_view input) {
  std::string folder = std::string("mem://fuzzed-") + name;
  static const Tokenizer tokenizer(small_model(), {});
  static const auto files = byte_bpe_files(tokenizer, 512);
  for (const auto& [file, content] : files) {
    if (file != "tokenizer.json") write_text(join_path(folder, file), content);
  }
  write_text(join_path(folder, name), input);
  refusing([&] { Tokenizer(read_byte_bpe(folder), {}).ids("abc"); });
}

void fuzz(std::string_view input) {
  for (const char* name : {"tokenizer.json", "vocab.json", "merges.txt", "added_tokens.json",
                           "tokenizer_config.json"}) {
    read_with(name, input);
  }
  for (bool special : {false, true}) {
    static const Tokenizer literal(small_model(), {});
    static const Tokenizer known(small_model(),
                                 {.strip_accents = {}, .special_tokens_in_text = true});
    const Tokenizer& tokenizer = special ? known : literal;
    std::vector<int32_t> ids = tokenizer.ids(input);
    std::vector<Piece> pieces = tokenizer.pieces(input);
    check(ids.size() == pieces.size(), "both ways through the tokenizer give as many pieces");
    for (const Piece& p : pieces) {
      check(p.begin <= p.end && p.byte_begin <= p.byte_end && p.byte_end <= input.size(),
            "a piece is a part of the text");
    }
  }
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
