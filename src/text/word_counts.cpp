// Counting on all threads, and the merge that does not show how many there were.
#include "text/word_counts.h"

#include <algorithm>

#include "base/error.h"
#include "base/first_failure.h"
#include "text/raw_words.h"
#include "text/tokenizer_tables.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

// A plain run of letters this long is no word that a vocabulary could hold; the tokenizer's limit is 200 characters.
constexpr size_t kLongestRun = 1000;

template <class Counts>
void add_to(Counts& counts, std::string_view word, int64_t count) {
  auto found = counts.find(word);
  if (found == counts.end()) found = counts.emplace(std::string(word), 0).first;
  found->second += count;
}

}  // namespace

WordCounter::WordCounter(bool lower, bool strip, int threads)
    : normalizer_(lower, strip), lower_(lower), parts_(static_cast<size_t>(std::max(1, threads))) {}

void WordCounter::add(std::span<const std::string> lines) {
  auto threads = static_cast<int>(parts_.size());
  auto count = static_cast<ptrdiff_t>(lines.size());
  FirstFailure failure;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int t = 0; t < threads; ++t) {
    ptrdiff_t first = count * t / threads, last = count * (t + 1) / threads;
    failure.run([&] {
      for (ptrdiff_t i = first; i < last; ++i) {
        add_line(lines[static_cast<size_t>(i)], parts_[static_cast<size_t>(t)]);
      }
    });
  }
  failure.rethrow();
}

void WordCounter::add_line(std::string_view line, Part& part) const {
  each_raw_word(line, [&](ByteKind kind, std::string_view raw, std::string_view before) {
    if (kind == ByteKind::symbol) {
      ++part.symbols[static_cast<unsigned char>(raw[0])];
    } else if (kind == ByteKind::other && lower_ && !before.empty() && has_capital_sigma(raw)) {
      normalize_into(raw, before, 1, part.words);
    } else if (kind == ByteKind::other || raw.size() <= kLongestRun) {
      add_to(part.raw, raw, 1);
    }
  });
}

void WordCounter::normalize_into(std::string_view raw, std::string_view before, int64_t count,
                                 Counts& words) const {
  NormalizedWord word;
  normalizer_.normalize(raw, before, word);
  std::string text;
  for (size_t at = 0; at < word.text.size();) {
    size_t end = basic_token_end(word.text, at);
    text.clear();
    for (; at < end; ++at) append_utf8(word.text[at], text);
    add_to(words, text, count);
  }
}

std::vector<WordCount> WordCounter::finish(int64_t max_chars) {
  Counts words;
  for (Part& part : parts_) {
    for (const auto& [raw, count] : part.raw) normalize_into(raw, "", count, words);
    for (const auto& [word, count] : part.words) add_to(words, word, count);
    for (size_t c = 0; c < part.symbols.size(); ++c) {
      char text = static_cast<char>(c);
      if (part.symbols[c]) add_to(words, std::string_view(&text, 1), part.symbols[c]);
    }
    part = Part();
  }
  std::vector<WordCount> result;
  result.reserve(words.size());
  for (const auto& [word, count] : words) {
    if (count_code_points(word) <= static_cast<uint64_t>(max_chars))
      result.push_back({word, count});
  }
  std::sort(result.begin(), result.end(),
            [](const WordCount& a, const WordCount& b) { return a.word < b.word; });
  return result;
}

}  // namespace bertrain
