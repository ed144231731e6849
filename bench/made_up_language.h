// Text that nobody wrote, whose words are as rare as words are, for benchmarks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace bertrain {

// Words of letters, and as pieces half of them, every letter and the ends of some.
struct Language {
  static constexpr size_t kWords = 60'000, kPieces = 30'000;
  std::vector<std::string> words, pieces;
  std::mt19937_64 random{1};

  Language() {
    for (size_t i = 0; i < kWords; ++i) {
      std::string word(2 + random() % 9, ' ');
      for (char& c : word) c = static_cast<char>('a' + random() % 26);
      words.push_back(word);
    }
    pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ",", "."};
    for (char c = 'a'; c <= 'z'; ++c) {
      pieces.push_back({c});
      pieces.push_back(std::string("##") + c);
    }
    for (size_t i = 0; pieces.size() < kPieces; ++i) {
      pieces.push_back(i % 3 < 2 ? words[i] : "##" + words[i].substr(words[i].size() / 2));
    }
  }

  // Common words are common: of rank r about as often as 1/r.
  const std::string& word() {
    double u = static_cast<double>(random() >> 11) * 0x1p-53;
    return words[static_cast<size_t>(std::exp(u * std::log(static_cast<double>(kWords)))) - 1];
  }
};

// Seconds since the last lap.
class Clock {
 public:
  double lap() {
    auto now = std::chrono::steady_clock::now();
    double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace bertrain
