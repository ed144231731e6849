// Text to pieces and ids, as the tokenizer of google-research/bert does it (BasicTokenizer, then
// WordPiece), or RoBERTa's (byte-level BPE, see byte_bpe.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace bertrain {

struct TokenizerOptions {
  bool do_lower_case = true;
  std::optional<bool>
      strip_accents;  // absent: as do_lower_case, which is the reference's behaviour
  int64_t max_chars_per_word =
      200;  // code points; a longer word is [UNK] (400 in TF 2.10's code, 100 in Hugging Face)
  // [PAD], [UNK], [CLS], [SEP] and [MASK] in a text, written just so, are those pieces. Else they are
  // text like any other, so that no text can pretend to be two.
  bool special_tokens_in_text = false;
};

// A piece and the part [begin, end) of the original text that it stands for.
struct PieceSpan {
  int32_t id;
  uint64_t begin, end;            // in code points
  uint64_t byte_begin, byte_end;  // in bytes
};
struct Piece : PieceSpan {
  std::string text;  // the vocabulary's token: "play", "##ing", "[UNK]"
};

// A word between blanks and punctuation, after lower-casing and stripping.
struct WordSpan {
  std::string text;
  uint64_t begin, end;
  uint64_t byte_begin, byte_end;
};

// What a model calls its special pieces, and how texts stand between them: data, so that no one who
// makes examples asks which tokenizer it has.
struct SpecialTokens {
  std::string_view pad, unknown, classify, separate, mask;
  int separators_between;  // of a pair of texts: one [SEP], or </s></s>
  int segments;  // kinds of tokens; with one, a pair's second text is told by its place only
};
inline constexpr SpecialTokens kBertSpecials = {kPad, kUnknown, kClassify, kSeparate, kMask, 1, 2};
inline constexpr SpecialTokens kRobertaSpecials = {"<pad>", "<unk>", "<s>", "</s>", "<mask>", 2, 1};

// A way to cut text into pieces, behind a Tokenizer.
class PieceCutter {
 public:
  virtual ~PieceCutter() = default;
  virtual void append_ids(std::string_view text, std::vector<int32_t>& ids) const = 0;
  virtual void each_piece(std::string_view text,
                          const std::function<void(const PieceSpan&)>& visit) const = 0;
  virtual void each_word(std::string_view text,
                         const std::function<void(const WordSpan&)>& visit) const = 0;
};

struct ByteBpeModel;
struct ByteBpeRules;

// Immutable and safe to use from many threads at once. Bytes that are not UTF-8 count as U+FFFD,
// which the reference deletes; refuse them before (repair_utf8) where they must be named. "[MASK]"
// in text is literal, "[", "mask", "]", unless the options say otherwise.
class Tokenizer {
 public:
  // Throws Error if [UNK] is missing or an option is out of range.
  explicit Tokenizer(Vocabulary vocabulary, TokenizerOptions options = {});
  // Of the options only special_tokens_in_text counts: the text is left as it is. Throws Error if a
  // byte's or a special token's piece is missing, or a merge's.
  Tokenizer(ByteBpeModel model, const TokenizerOptions& options);
  // The same vocabulary and rules under other options.
  Tokenizer with(TokenizerOptions options) const;
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  const TokenizerOptions& options() const { return options_; }
  bool strips_accents() const;
  const SpecialTokens& special() const { return special_; }
  const ByteBpeRules* byte_bpe() const { return byte_bpe_; }  // null: WordPiece

  std::vector<int32_t> ids(std::string_view text) const;
  void append_ids(std::string_view text, std::vector<int32_t>& ids) const;  // the fast way
  std::vector<Piece> pieces(std::string_view text) const;
  std::vector<WordSpan> words(std::string_view text) const;  // the basic tokens

  // Calls back for every piece (word) in order, with memory that does not grow with the text.
  void each_piece(std::string_view text, const std::function<void(const PieceSpan&)>& visit) const;
  void each_word(std::string_view text, const std::function<void(const WordSpan&)>& visit) const;

 private:
  std::unique_ptr<const Vocabulary> vocabulary_;  // at one address for ever: ids point into it
  TokenizerOptions options_;
  SpecialTokens special_;
  const ByteBpeRules* byte_bpe_ = nullptr;  // of the cutter
  std::unique_ptr<const PieceCutter> cutter_;
};

}  // namespace bertrain
