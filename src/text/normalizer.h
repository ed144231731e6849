// Cleaning, lower-casing and accent stripping of one word, with the way back to the original text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

// Code points of a raw word (see raw_words.h) after normalization; each knows the part of the raw
// word that it came from.
struct NormalizedWord {
  std::u32string text;
  std::vector<uint32_t> begin, end;  // [begin, end) in code points from the start of the raw word
  bool lost_letters =
      false;  // stripping removed marks that are letters of their script (Indic vowel signs …)

  void clear();
  void append(char32_t c, uint32_t from, uint32_t to);
};

// Steps 1 and 4 of BasicTokenizer: deletes control and format characters, lower-cases as Python's
// str.lower() (U+0130 becomes two code points, a capital sigma at a word's end ς), decomposes (NFD)
// and removes nonspacing marks. ß, ligatures and full-width forms stay; Hangul syllables stay
// decomposed.
class Normalizer {
 public:
  Normalizer(bool lower, bool strip) : lower_(lower), strip_(strip) {}

  // `before` is what precedes the raw word without a blank, as far as it was taken as words of its
  // own: ASCII letters and symbols, which decide how a sigma is lowered.
  void normalize(std::string_view raw, std::string_view before, NormalizedWord& out) const;

 private:
  bool lower_, strip_;
};

// Python's str.lower() of a text in UTF-8 and nothing more: no character is deleted.
std::u32string lower_case(std::string_view text);

}  // namespace bertrain
