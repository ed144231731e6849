// BasicTokenizer's treatment of a word, with offsets.
#include "text/normalizer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "text/unicode.h"

namespace bertrain {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;
constexpr char32_t kCapitalDottedI = 0x130, kDotAbove = 0x307;

bool has(char32_t c, uint16_t flags) { return character(c).flags & flags; }

// str.lower()'s rule: a cased letter before (case-ignorable characters skipped) and none after.
bool is_final_sigma(const std::u32string& text, size_t at, std::string_view before) {
  size_t i = at;
  while (i > 0 && has(text[i - 1], kCaseIgnorable)) --i;
  bool cased_before;
  if (i > 0) {
    cased_before = has(text[i - 1], kCased);
  } else {
    size_t j = before.size();
    auto byte = [&](size_t k) {
      return static_cast<char32_t>(static_cast<unsigned char>(before[k]));
    };
    while (j > 0 && has(byte(j - 1), kCaseIgnorable)) --j;
    cased_before = j > 0 && has(byte(j - 1), kCased);
  }
  if (!cased_before) return false;
  size_t k = at + 1;
  while (k < text.size() && has(text[k], kCaseIgnorable)) ++k;
  return k == text.size() || !has(text[k], kCased);
}

// A mark whose class is not that of an accent: vowel signs, nuktas and viramas carry meaning.
// Joiners and the variation selectors that follow emoji do not.
bool is_letter_like(char32_t mark) {
  if (mark == 0x34F || (mark >= 0x180B && mark <= 0x180F) || (mark >= 0xFE00 && mark <= 0xFE0F) ||
      mark >= 0xE0100) {
    return false;
  }
  int combining = character(mark).combining_class;
  return combining == 0 || combining == 7 || combining == 9;
}

// Canonical ordering: the marks between two starters by class, equal ones in the order they came.
void order_marks(NormalizedWord& word) {
  auto combining = [&](size_t i) { return character(word.text[i]).combining_class; };
  for (size_t first = 0; first < word.text.size(); ++first) {
    if (combining(first) == 0) continue;
    size_t last = first;
    bool ordered = true;
    for (; last < word.text.size() && combining(last) != 0; ++last) {
      ordered &= last == first || combining(last - 1) <= combining(last);
    }
    if (!ordered) {
      std::vector<size_t> order(last - first);
      std::iota(order.begin(), order.end(), first);
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return combining(a) < combining(b); });
      NormalizedWord sorted;
      for (size_t i : order) sorted.append(word.text[i], word.begin[i], word.end[i]);
      auto at = static_cast<ptrdiff_t>(first);
      std::copy(sorted.text.begin(), sorted.text.end(), word.text.begin() + at);
      std::copy(sorted.begin.begin(), sorted.begin.end(), word.begin.begin() + at);
      std::copy(sorted.end.begin(), sorted.end.end(), word.end.begin() + at);
    }
    first = last;
  }
}

void decompose(NormalizedWord& word) {
  if (std::none_of(word.text.begin(), word.text.end(),
                   [](char32_t c) { return has(c, kDecomposes); })) {
    return order_marks(word);
  }
  NormalizedWord result;
  std::u32string parts;
  for (size_t i = 0; i < word.text.size(); ++i) {
    parts.clear();
    append_decomposed(word.text[i], parts);
    for (char32_t c : parts) result.append(c, word.begin[i], word.end[i]);
  }
  word = std::move(result);
  order_marks(word);
}

// A removed mark's place goes to what it stood on, so that offsets cut the original between whole
// characters.
void strip_marks(NormalizedWord& word) {
  size_t kept = 0;
  for (size_t i = 0; i < word.text.size(); ++i) {
    if (has(word.text[i], kNonspacingMark)) {
      word.lost_letters |= is_letter_like(word.text[i]);
      if (kept > 0) word.end[kept - 1] = std::max(word.end[kept - 1], word.end[i]);
      continue;
    }
    word.text[kept] = word.text[i];
    word.begin[kept] = word.begin[i];
    word.end[kept++] = word.end[i];
  }
  word.text.resize(kept);
  word.begin.resize(kept);
  word.end.resize(kept);
}

// str.lower() of a word; see Normalizer::normalize for `before`.
void lower_word(std::string_view before, NormalizedWord& word) {
  // The rule for sigma looks at the text before any of it is lowered, so the sigmas come first: the
  // two small ones are lower-case already, and cased as the capital is.
  for (size_t i = 0; i < word.text.size(); ++i) {
    if (word.text[i] != kCapitalSigma) continue;
    word.text[i] = is_final_sigma(word.text, i, before) ? kFinalSigma : kSigma;
  }
  bool grows = false;
  for (char32_t& c : word.text) {
    c = static_cast<char32_t>(static_cast<int32_t>(c) + character(c).lower_delta);
    grows |= c == kCapitalDottedI;
  }
  if (!grows) return;
  NormalizedWord result;
  for (size_t i = 0; i < word.text.size(); ++i) {
    bool dotted = word.text[i] == kCapitalDottedI;
    result.append(dotted ? U'i' : word.text[i], word.begin[i], word.end[i]);
    if (dotted) result.append(kDotAbove, word.begin[i], word.end[i]);
  }
  word = std::move(result);
}

}  // namespace

void NormalizedWord::clear() {
  text.clear();
  begin.clear();
  end.clear();
  lost_letters = false;
}

void NormalizedWord::append(char32_t c, uint32_t from, uint32_t to) {
  text += c;
  begin.push_back(from);
  end.push_back(to);
}

void Normalizer::normalize(std::string_view raw, std::string_view before,
                           NormalizedWord& out) const {
  out.clear();
  uint32_t index = 0;
  for (std::string_view rest = raw; !rest.empty(); ++index) {
    Decoded d = decode_utf8(rest);
    if (!has(d.code_point, kDropped)) out.append(d.code_point, index, index + 1);
    rest.remove_prefix(d.bytes);
  }
  if (lower_) lower_word(before, out);
  if (strip_) {
    decompose(out);
    strip_marks(out);
  }
}

std::u32string lower_case(std::string_view text) {
  NormalizedWord all;
  for (uint32_t index = 0; !text.empty(); ++index) {
    Decoded d = decode_utf8(text);
    all.append(d.code_point, index, index + 1);
    text.remove_prefix(d.bytes);
  }
  lower_word("", all);
  return std::move(all.text);
}

}  // namespace bertrain
