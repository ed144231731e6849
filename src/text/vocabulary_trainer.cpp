// The alphabet, and the merge loop with incremental pair counts.
#include "text/vocabulary_trainer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>

#include "base/error.h"
#include "text/unicode.h"
#include "text/vocabulary.h"

namespace bertrain {
namespace {

constexpr std::string_view kSpecials[] = {kPad, kUnknown, kClassify, kSeparate, kMask};
constexpr size_t kSpecialCount = std::size(kSpecials);
constexpr int64_t kLargestVocabulary = 10'000'000;

std::u32string code_points(std::string_view text) {
  std::u32string out;
  while (!text.empty()) {
    Decoded d = decode_utf8(text);
    out += d.code_point;
    text.remove_prefix(d.bytes);
  }
  return out;
}

std::string utf8(char32_t c) {
  std::string text;
  append_utf8(c, text);
  return text;
}

// How often a character begins a word and stands inside one.
struct CharacterCount {
  int64_t first = 0, inside = 0;
  int64_t all() const { return first + inside; }
};

// A character in one of its two forms, "c" and "##c".
struct Symbol {
  char32_t character;
  bool inside;
  int64_t count;
};

// Which symbols the vocabulary begins with.
class Alphabet {
 public:
  Alphabet(std::span<const WordCount> words, const VocabularyTrainerOptions& options) {
    std::map<char32_t, CharacterCount> counts;
    for (const WordCount& w : words) {
      bool inside = false;
      for (char32_t c : code_points(w.word)) {
        (inside ? counts[c].inside : counts[c].first) += w.count;
        inside = true;
      }
    }
    by_count_.assign(counts.begin(), counts.end());
    std::stable_sort(by_count_.begin(), by_count_.end(),
                     [](const auto& a, const auto& b) { return a.second.all() > b.second.all(); });
    choose(options);
    for (const Symbol& s : symbols_) (s.inside ? inside_ : first_).emplace(s.character, 0);
  }

  const std::vector<Symbol>& symbols() const { return symbols_; }
  void number(size_t index, int32_t id) {
    const Symbol& s = symbols_[index];
    (s.inside ? inside_ : first_)[s.character] = id;
  }
  // The id of a character's form; -1 if it was cut.
  int32_t id(char32_t c, bool inside) const {
    const auto& ids = inside ? inside_ : first_;
    auto found = ids.find(c);
    return found == ids.end() ? -1 : found->second;
  }

  void report(TrainedVocabulary& result) const {
    result.characters = static_cast<int64_t>(by_count_.size());
    int shown = 0;
    for (const auto& [c, count] : by_count_) {
      if (first_.contains(c) || inside_.contains(c)) {
        ++result.characters_kept;
      } else if (shown++ < 10) {
        result.cut += (result.cut.empty() ? "" : " ") + utf8(c);
      }
    }
  }

 private:
  // A kept character always has its form at a word's start, even if it was not seen there: new text may have it. When
  // all do not fit, the forms seen most often go in.
  void choose(const VocabularyTrainerOptions& options) {
    size_t kept = std::min(by_count_.size(), static_cast<size_t>(options.limit_alphabet));
    for (size_t i = 0; i < kept; ++i) {
      const auto& [c, count] = by_count_[i];
      symbols_.push_back({c, false, count.first});
      if (count.inside) symbols_.push_back({c, true, count.inside});
    }
    size_t room = static_cast<size_t>(options.vocab_size) - kSpecialCount;
    if (symbols_.size() > room) {
      std::stable_sort(symbols_.begin(), symbols_.end(),
                       [](const Symbol& a, const Symbol& b) { return a.count > b.count; });
      symbols_.resize(room);
    }
    std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
      return std::pair(a.inside, a.character) < std::pair(b.inside, b.character);
    });
  }

  std::vector<std::pair<char32_t, CharacterCount>> by_count_;
  std::vector<Symbol> symbols_;
  std::unordered_map<char32_t, int32_t> first_, inside_;
};

// Joins pairs of neighbours in all words until told to stop.
class Merger {
 public:
  struct Best {
    int32_t left, right;
    int64_t count;
  };

  void add_word(const std::vector<int32_t>& symbols, int64_t count) {
    auto index = static_cast<uint32_t>(words_.size());
    words_.push_back({symbols_.size(), static_cast<uint32_t>(symbols.size()), count});
    symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
    for (size_t i = 1; i < symbols.size(); ++i) change(symbols[i - 1], symbols[i], count, index);
  }

  void start() { push_touched(); }

  // The pair that stands most often, if it does at least `least` times.
  std::optional<Best> best(int64_t least) {
    while (!heap_.empty()) {
      Entry top = heap_.top();
      heap_.pop();
      const Pair& pair = pairs_[top.pair];
      if (pair.count == top.count && top.count >= least) {
        return Best{static_cast<int32_t>(pair.key >> 32),
                    static_cast<int32_t>(pair.key & 0xFFFFFFFF), top.count};
      }
      // Counts fall without notice to the heap; an entry comes back with what its pair has now.
      if (pair.count < top.count && pair.count >= least)
        heap_.push({pair.count, pair.key, top.pair});
    }
    return std::nullopt;
  }

  void merge(const Best& best, int32_t joined) {
    uint32_t index = index_of_.at(key_of(best.left, best.right));
    std::vector<uint32_t> where = std::move(pairs_[index].words);
    pairs_[index].words = {};
    for (uint32_t word : where) merge_word(word, best.left, best.right, joined);
    pairs_[index].count = 0;
    push_touched();
  }

 private:
  struct Word {
    size_t start;  // in symbols_
    uint32_t length;
    int64_t count;
  };
  struct Pair {
    uint64_t key;
    int64_t count = 0;
    std::vector<uint32_t> words;  // where it stands or once stood; a word may be there twice
    bool touched = false;
  };
  struct Entry {
    int64_t count;
    uint64_t key;
    uint32_t pair;
    bool operator<(const Entry& other) const {
      return count != other.count ? count < other.count : key > other.key;
    }
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }

  void change(int32_t left, int32_t right, int64_t by, uint32_t word) {
    uint64_t key = key_of(left, right);
    auto [found, is_new] = index_of_.try_emplace(key, static_cast<uint32_t>(pairs_.size()));
    if (is_new) pairs_.push_back({key, 0, {}, false});
    Pair& pair = pairs_[found->second];
    pair.count += by;
    if (by < 0) return;
    if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(word);
    if (!pair.touched) {
      pair.touched = true;
      touched_.push_back(found->second);
    }
  }

  void push_touched() {
    for (uint32_t index : touched_) {
      Pair& pair = pairs_[index];
      pair.touched = false;
      heap_.push({pair.count, pair.key, index});
    }
    touched_.clear();
  }

  void merge_word(uint32_t index, int32_t left, int32_t right, int32_t joined) {
    Word& word = words_[index];
    int32_t* s = symbols_.data() + word.start;
    uint32_t n = word.length, out = 0;
    auto matches = [&](uint32_t i) { return i + 1 < n && s[i] == left && s[i + 1] == right; };
    int32_t previous = -1;     // what stood before s[i], as it was before this merge
    bool after_match = false;  // the two symbols before s[i] have just been joined
    for (uint32_t i = 0; i < n;) {
      if (!matches(i)) {
        previous = s[i];
        after_match = false;
        s[out++] = s[i++];
        continue;
      }
      // Between two matches the old pair is taken off once, by the first, and the new one added once, by the second.
      if (out > 0 && !after_match) change(previous, left, -word.count, index);
      if (out > 0) change(s[out - 1], joined, word.count, index);
      if (i + 2 < n) {
        change(right, s[i + 2], -word.count, index);
        if (!matches(i + 2)) change(joined, s[i + 2], word.count, index);
      }
      previous = right;
      after_match = true;
      s[out++] = joined;
      i += 2;
    }
    word.length = out;
  }

  std::vector<int32_t> symbols_;
  std::vector<Word> words_;
  std::vector<Pair> pairs_;
  std::unordered_map<uint64_t, uint32_t> index_of_;
  std::vector<uint32_t> touched_;
  std::priority_queue<Entry> heap_;
};

// The tokens so far; two ways to join can spell the same piece.
class Tokens {
 public:
  int32_t add(const std::string& text) {
    auto [found, is_new] = ids_.try_emplace(text, static_cast<int32_t>(tokens_.size()));
    if (is_new) tokens_.push_back(text);
    return found->second;
  }
  int32_t join(int32_t left, int32_t right) {
    // What stands on the right is inside a word: its "##" goes.
    return add(tokens_[static_cast<size_t>(left)] + tokens_[static_cast<size_t>(right)].substr(2));
  }
  size_t size() const { return tokens_.size(); }
  std::vector<std::string> take() { return std::move(tokens_); }

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
};

}  // namespace

void check_options(const VocabularyTrainerOptions& o) {
  if (o.vocab_size <= static_cast<int64_t>(kSpecialCount) || o.vocab_size > kLargestVocabulary) {
    throw usage_error("vocab_size={}: {} to {} expected; {} are the special tokens", o.vocab_size,
                      kSpecialCount + 1, kLargestVocabulary, kSpecialCount);
  }
  if (o.limit_alphabet < 1) {
    throw usage_error("limit_alphabet={}: at least 1 expected", o.limit_alphabet);
  }
  if (o.min_frequency < 1) {
    throw usage_error("min_frequency={}: at least 1 expected", o.min_frequency);
  }
}

TrainedVocabulary train_vocabulary(std::span<const WordCount> words,
                                   const VocabularyTrainerOptions& options) {
  check_options(options);
  if (words.empty()) throw error("no words: no vocabulary can be made of them");
  TrainedVocabulary result;
  Tokens tokens;
  for (std::string_view special : kSpecials) tokens.add(std::string(special));
  Alphabet alphabet(words, options);
  for (size_t i = 0; i < alphabet.symbols().size(); ++i) {
    const Symbol& s = alphabet.symbols()[i];
    alphabet.number(i, tokens.add((s.inside ? "##" : "") + utf8(s.character)));
  }
  alphabet.report(result);

  Merger merger;
  int64_t all = 0, covered = 0;
  std::vector<int32_t> symbols;
  for (const WordCount& w : words) {
    all += w.count;
    symbols.clear();
    for (char32_t c : code_points(w.word)) symbols.push_back(alphabet.id(c, !symbols.empty()));
    // A word with a character that was cut is [UNK] as a whole, so its pairs are worth nothing.
    if (std::find(symbols.begin(), symbols.end(), -1) != symbols.end()) continue;
    covered += w.count;
    merger.add_word(symbols, w.count);
  }
  result.coverage = static_cast<double>(covered) / static_cast<double>(all);

  merger.start();
  while (static_cast<int64_t>(tokens.size()) < options.vocab_size) {
    std::optional<Merger::Best> best = merger.best(options.min_frequency);
    if (!best) {
      result.exhausted = true;
      break;
    }
    merger.merge(*best, tokens.join(best->left, best->right));
  }
  result.tokens = tokens.take();
  return result;
}

}  // namespace bertrain
