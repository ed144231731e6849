// BERT's way to cut text, for a Tokenizer: its exact path (with offsets) and its fast one share
// these tables.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/normalizer.h"
#include "text/tokenizer.h"
#include "text/wordpiece.h"

namespace bertrain {

// Memory that a call needs while it works on one raw word.
struct WordScratch {
  NormalizedWord word;
  std::string text;  // one basic token in UTF-8
  std::vector<WordPieceMatch> matches;
};

struct WordCutter final : PieceCutter {
  WordCutter(const Vocabulary& vocabulary, const TokenizerOptions& options);

  void append_ids(std::string_view text, std::vector<int32_t>& ids) const override;
  void each_piece(std::string_view text,
                  const std::function<void(const PieceSpan&)>& visit) const override;
  void each_word(std::string_view text,
                 const std::function<void(const WordSpan&)>& visit) const override;
  void append_literal(std::string_view text, std::vector<int32_t>& ids) const;

  // Appends the ids of one raw word (see raw_words.h).
  void append_raw_word(std::string_view raw, std::string_view before, WordScratch& scratch,
                       std::vector<int32_t>& ids) const;
  // The same for ASCII letters and digits alone, which need no more than a change of case.
  void append_letters(std::string_view raw, WordScratch& scratch, std::vector<int32_t>& ids) const;
  // Calls visit(part, id) for what lies between special tokens of a text (id -1), and for those (their
  // id), in order; the whole text is one part where they are literal.
  template <class Visit>
  void each_part(std::string_view text, Visit visit) const;
  void normalize(std::string_view raw, std::string_view before, NormalizedWord& word) const;

  bool strip;
  bool lower;
  Normalizer normalizer;
  WordPiece wordpiece;
  size_t max_chars;
  std::vector<std::pair<std::string_view, int32_t>> specials;  // none where they are literal
  std::array<int32_t, 128> symbol_ids;                         // by ASCII punctuation character
  uint32_t serial;  // tells this tokenizer's cache entries from all others' of the process
  mutable std::atomic<bool> warned = false;
};

template <class Visit>
void WordCutter::each_part(std::string_view text, Visit visit) const {
  size_t from = 0;
  for (size_t at = 0; !specials.empty() && (at = text.find('[', at)) != text.npos;) {
    std::string_view rest = text.substr(at);
    auto special = std::find_if(specials.begin(), specials.end(),
                                [&](const auto& s) { return rest.starts_with(s.first); });
    if (special == specials.end()) {
      ++at;
      continue;
    }
    size_t length = special->first.size();
    if (at > from) visit(text.substr(from, at - from), -1);
    visit(rest.substr(0, length), special->second);
    from = at += length;
  }
  if (from < text.size()) visit(text.substr(from), -1);
}

// End of the basic token that starts at `at`: punctuation stands alone (step 5 of BasicTokenizer).
size_t basic_token_end(const std::u32string& text, size_t at);

}  // namespace bertrain
