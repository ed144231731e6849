// How often each word stands in a text: what a vocabulary is trained on.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/normalizer.h"

namespace bertrain {

struct WordCount {
  std::string word;  // a basic token in UTF-8
  int64_t count;
};

// Counts words line by line on several threads. What it holds grows with the number of distinct stretches
// between blanks and ideographs: words in most languages, whole phrases where a script writes no blanks.
class WordCounter {
 public:
  WordCounter(bool lower, bool strip, int threads);

  void add(std::span<const std::string> lines);
  // All words in the order of their bytes: the same at any number of threads. Words of more than `max_chars` code
  // points are left out: the tokenizer makes them [UNK] whatever the vocabulary.
  std::vector<WordCount> finish(int64_t max_chars = 200);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  using Counts = std::unordered_map<std::string, int64_t, Hash, std::equal_to<>>;

  // Raw words are counted as they stand, and each distinct one is normalized once, at the end.
  struct Part {
    Counts raw;
    Counts words;  // normalized at once, because what stood before mattered
    std::array<int64_t, 128> symbols{};
  };

  void add_line(std::string_view line, Part& part) const;
  void normalize_into(std::string_view raw, std::string_view before, int64_t count,
                      Counts& words) const;

  Normalizer normalizer_;
  bool lower_;
  std::vector<Part> parts_;  // one a thread
};

}  // namespace bertrain
