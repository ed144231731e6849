// RoBERTa's and GPT-2's pieces: byte pair encoding [Sennrich et al. 2016] of the bytes of words, so
// that no text is unknown (Radford et al. 2019, section 2.2).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace bertrain {

// A token that is taken out of a text before it is cut into words.
struct AddedToken {
  int32_t id = 0;
  std::string text;
  bool special = false;      // of the model, not of a language: text where nobody asked for them
  bool strip_left = false;   // takes the blanks before it, as <mask> does
  bool strip_right = false;  // and those after it
  bool normalized = false;   // looked for in what those that are not normalized leave
};

struct ByteBpeMerge {
  int32_t left, right, result;  // ids of the pieces
};

// What a tokenizer's files say beside its vocabulary.
struct ByteBpeRules {
  std::vector<ByteBpeMerge> merges;  // the first that fits a word is made first
  std::vector<AddedToken> added;     // by id
  bool add_prefix_space = false;     // a text's first word is a word like any other
  bool trim_offsets = true;          // a piece's place in the text is without its blanks
};

struct ByteBpeModel {
  Vocabulary vocabulary;  // bytes are written as characters (byte_character), " a" as "Ġa"
  ByteBpeRules rules;
};

// How a byte is written in the vocabulary: printable ones as Latin-1 has them, others from U+0100 on.
char32_t byte_character(uint8_t byte);

// Bytes of the word that starts a text which is not empty: GPT-2's expression
// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t byte_bpe_word_bytes(std::string_view text);

class ByteBpe final : public PieceCutter {
 public:
  // Throws Error naming a byte's or a special token's piece that is missing. Special tokens in a text
  // are themselves where asked for; other added tokens are always.
  ByteBpe(const Vocabulary& vocabulary, ByteBpeRules rules, bool special_tokens_in_text);

  const ByteBpeRules& rules() const { return rules_; }
  void append_ids(std::string_view text, std::vector<int32_t>& ids) const override;
  void each_piece(std::string_view text,
                  const std::function<void(const PieceSpan&)>& visit) const override;
  void each_word(std::string_view text,
                 const std::function<void(const WordSpan&)>& visit) const override;

 private:
  // Merges by the ids of their two pieces, in a table with free places (linear probing).
  struct MergePlace {
    uint64_t pair = kNoPair;
    int32_t rank = 0, result = 0;
  };
  static constexpr uint64_t kNoPair = ~uint64_t{0};
  // Added tokens by their first byte, long ones first.
  using Starts = std::array<std::vector<const AddedToken*>, 256>;
  struct Scratch;

  void add_merges();
  const MergePlace* find_merge(int32_t left, int32_t right) const;
  void cut_word(std::string_view word, Scratch& scratch) const;  // into scratch.ids and .lengths
  void trim(PieceSpan& span, bool prefixed) const;
  template <class Visit>
  void each_part(std::string_view text, Visit visit) const;
  template <class Visit>
  void each_word_of_part(std::string_view part, Visit visit) const;

  ByteBpeRules rules_;
  std::array<int32_t, 256> byte_ids_;
  std::vector<uint8_t> blanks_before_, blanks_after_;  // by id, 255 at most
  std::vector<MergePlace> merges_;
  std::vector<Starts> starts_;  // of tokens that are not normalized, then of those that are
  uint32_t serial_;
};

}  // namespace bertrain
