// Texts that have more pieces than the model reads: cut, or in windows; how many there were.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "task/pair_input.h"

namespace bertrain {

enum class LongText : uint8_t {
  head,       // the beginning, as the reference cuts (see PairEncoder)
  head_tail,  // the first and the last part
  windows,    // all of it, in windows that overlap
};

std::optional<LongText> find_long_text(std::string_view name);  // "head", "head_tail", "windows"
std::string_view name_of(LongText how);

struct EncodedText {
  std::vector<PairInput> inputs;  // one, or the windows in their order
  uint64_t pieces = 0;            // of the text, or of both of a pair, before anything was cut
  uint64_t cut = 0;               // pieces that are in no input
};

// head_tail: of the pieces that a text may have, the first quarter (rounded up) from its beginning and
// the others from its end, which at 512 tokens is the 128 and 382 of Sun et al. 2019, "How to Fine-Tune
// BERT for Text Classification?", section 5.3.1. How many pieces each text of a pair may have is as in
// the reference's rule.
//
// windows: as wide as there is room, each `stride` pieces after the one before (0: half a width; more
// than a width counts as one), up to the first that reaches the end, as SQuAD's contexts are read. Of a
// pair the longer text (the second if they are equal) goes in windows, each beside the whole shorter
// one, of which no more than half of the room is kept, from its beginning.
class LongTextEncoder {
 public:
  LongTextEncoder(const Tokenizer& tokenizer, int64_t max_seq_length, bool pairs, LongText how,
                  int64_t stride);  // beyond a window's width: that

  LongText how() const { return how_; }
  uint64_t widest() const;  // pieces of a text alone that a window has room for
  // Safe from many threads. Throws Error for a text of more than kMostWindows windows.
  EncodedText encode(std::string_view a, std::string_view b) const;

  static constexpr uint64_t kMostWindows = 100'000;

 private:
  using Pieces = std::vector<int32_t>;
  EncodedText windows(const Pieces& a, const Pieces& b) const;

  PairEncoder pairs_;
  LongText how_;
  uint64_t stride_;
};

// How long the texts of a file are, and what became of the long ones.
class TextLengths {
 public:
  explicit TextLengths(LongText how) : how_(how) {}

  void add(const EncodedText& text);
  uint64_t texts() const { return texts_; }
  bool any_long() const { return cut_ + windowed_ > 0; }
  // The shortest length that so many per cent of the texts do not exceed (0 of none).
  uint64_t percentile(int per_cent) const;
  // "12 of 300 texts (4.0 %) were cut …; pieces a text: at most 20 in 50 % of them, …, 700 in the longest"
  std::string summary() const;

 private:
  LongText how_;
  std::map<uint64_t, uint64_t> count_;  // by pieces
  uint64_t texts_ = 0, cut_ = 0, windowed_ = 0, windows_ = 0;
};

}  // namespace bertrain
