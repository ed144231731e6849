// Python's lower(), \b and split() on code points.
#include "task/squad/answer_overlap.h"

#include <algorithm>
#include <unordered_map>

#include "text/normalizer.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

constexpr char32_t kFullWidthTilde =
    0xFF5E;  // a symbol by its category, and punctuation in CMRC's list

bool has(char32_t c, uint16_t flags) { return character(c).flags & flags; }

// What \b sees a word in, once ASCII punctuation (and so _) is gone.
bool is_word_character(char32_t c) { return has(c, kLetter | kNumber); }

// string.punctuation, or that of every script.
bool is_dropped(char32_t c, ScoreUnit unit) {
  if (unit == ScoreUnit::word && c >= 128) return false;
  return has(c, kPunctuation) || c == kFullWidthTilde;
}

// Replaces the runs of letters and numbers that are a, an or the by a blank.
std::u32string without_articles(const std::u32string& text) {
  std::u32string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_word_character(text[end])) ++end;
    std::u32string_view run(text.data() + at, end - at);
    if (run.empty()) {
      out += text[at++];
      continue;
    }
    if (run == U"a" || run == U"an" || run == U"the") {
      out += U' ';
    } else {
      out += run;
    }
    at = end;
  }
  return out;
}

size_t common_words(const NormalizedAnswer& a, const NormalizedAnswer& b) {
  std::unordered_map<std::string_view, size_t> left;
  for (const std::string& word : a.words) ++left[word];
  size_t common = 0;
  for (const std::string& word : b.words) {
    auto found = left.find(word);
    if (found == left.end() || found->second == 0) continue;
    --found->second;
    ++common;
  }
  return common;
}

size_t longest_common_run(const NormalizedAnswer& a, const NormalizedAnswer& b) {
  std::vector<size_t> run(b.words.size() + 1);  // that ends with a's word and b's word j - 1
  size_t longest = 0;
  for (const std::string& word : a.words) {
    for (size_t j = b.words.size(); j > 0; --j) {
      run[j] = word == b.words[j - 1] ? run[j - 1] + 1 : 0;
      longest = std::max(longest, run[j]);
    }
  }
  return longest;
}

}  // namespace

NormalizedAnswer normalize_answer(std::string_view answer, ScoreUnit unit) {
  std::u32string text = lower_case(answer);
  std::erase_if(text, [&](char32_t c) { return is_dropped(c, unit); });
  if (unit == ScoreUnit::word) text = without_articles(text);
  NormalizedAnswer out;
  bool gap = true, apart = true;  // a blank, or the end of a word, is before
  for (char32_t c : text) {
    if (has(c, kPythonSpace)) {
      gap = true;
      continue;
    }
    bool alone = unit == ScoreUnit::character && has(c, kIdeograph);
    if (gap && !out.text.empty()) out.text += ' ';
    if (gap || apart || alone) out.words.emplace_back();
    gap = false;
    apart = alone;
    append_utf8(c, out.text);
    append_utf8(c, out.words.back());
  }
  return out;
}

double answer_f1(const NormalizedAnswer& gold, const NormalizedAnswer& predicted, ScoreUnit unit) {
  size_t same =
      unit == ScoreUnit::word ? common_words(gold, predicted) : longest_common_run(gold, predicted);
  if (same == 0) return 0;
  double precision = static_cast<double>(same) / static_cast<double>(predicted.words.size());
  double recall = static_cast<double>(same) / static_cast<double>(gold.words.size());
  return (2 * precision * recall) / (precision + recall);
}

}  // namespace bertrain
