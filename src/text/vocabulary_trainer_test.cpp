// Tests of vocabulary training: against counting anew at every step, at any number of threads, and at every limit.
#include "text/vocabulary_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "base/error.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<WordCount> count(const std::vector<std::string>& lines, int threads = 1,
                             bool lower = true) {
  WordCounter counter(lower, lower, threads);
  counter.add(lines);
  return counter.finish();
}

// Random words over few letters, so that pairs repeat, overlap and tie.
std::vector<std::string> random_lines(int words, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<std::string> lines(1);
  for (int i = 0; i < words; ++i) {
    for (size_t n = 1 + rng() % 9; n > 0; --n) lines.back() += static_cast<char>('a' + rng() % 3);
    lines.back() += ' ';
    if (rng() % 8 == 0) lines.emplace_back();
  }
  return lines;
}

// The trainer's definition, written the slow way: all pairs are counted again before each merge.
std::vector<std::string> train_slowly(const std::vector<WordCount>& words, size_t size,
                                      int64_t least) {
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  std::vector<std::pair<std::vector<std::string>, int64_t>> cut;
  std::set<std::string> first, inside;
  for (const WordCount& w : words) {
    std::vector<std::string> pieces;
    for (char c : w.word) {
      first.insert(std::string(1, c));
      if (!pieces.empty()) inside.insert("##" + std::string(1, c));
      pieces.push_back((pieces.empty() ? "" : "##") + std::string(1, c));
    }
    cut.emplace_back(pieces, w.count);
  }
  tokens.insert(tokens.end(), first.begin(), first.end());
  tokens.insert(tokens.end(), inside.begin(), inside.end());
  auto id = [&](const std::string& t) {
    return std::find(tokens.begin(), tokens.end(), t) - tokens.begin();
  };
  while (tokens.size() < size) {
    std::map<std::pair<std::string, std::string>, int64_t> pairs;
    for (const auto& [pieces, n] : cut) {
      for (size_t i = 1; i < pieces.size(); ++i) pairs[{pieces[i - 1], pieces[i]}] += n;
    }
    std::pair<std::string, std::string> best;
    int64_t best_count = 0;
    for (const auto& [pair, n] : pairs) {
      bool earlier = n == best_count && std::pair(id(pair.first), id(pair.second)) <
                                            std::pair(id(best.first), id(best.second));
      if (n > best_count || earlier) best = pair, best_count = n;
    }
    if (best_count < least) break;
    std::string joined = best.first + best.second.substr(2);
    if (id(joined) == static_cast<ptrdiff_t>(tokens.size())) tokens.push_back(joined);
    for (auto& [pieces, n] : cut) {
      for (size_t i = 0; i + 1 < pieces.size(); ++i) {
        if (pieces[i] != best.first || pieces[i + 1] != best.second) continue;
        pieces[i] = joined;
        pieces.erase(pieces.begin() + static_cast<ptrdiff_t>(i) + 1);
      }
    }
  }
  return tokens;
}

TEST(VocabularyTrainer, EqualsCountingAnew) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::vector<WordCount> words = count(random_lines(300, seed));
    TrainedVocabulary trained = train_vocabulary(words, {.vocab_size = 120, .min_frequency = 2});
    EXPECT_EQ(trained.tokens, train_slowly(words, 120, 2)) << seed;
  }
}

TEST(VocabularyTrainer, RepeatedLettersOverlap) {
  std::vector<WordCount> words = count({"aaaa aaaaa aaa", "aaaaaaa"});
  EXPECT_EQ(train_vocabulary(words, {.vocab_size = 11, .min_frequency = 1}).tokens,
            train_slowly(words, 11, 1));
}

TEST(VocabularyTrainer, StopsWhereNothingRepeats) {
  TrainedVocabulary trained = train_vocabulary(count({"ab ab cd"}), {.vocab_size = 100});
  EXPECT_TRUE(trained.exhausted);
  EXPECT_THAT(trained.tokens, ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b",
                                          "c", "d", "##b", "##d", "ab"));
}

TEST(VocabularyTrainer, FewerPlacesThanCharacters) {
  std::string line;
  for (char32_t c = 0x4E00; c < 0x4E00 + 500; ++c) {
    append_utf8(c, line);
    if (c < 0x4E10) append_utf8(c, line);
  }
  TrainedVocabulary trained = train_vocabulary(count({line}), {.vocab_size = 100});
  EXPECT_EQ(trained.tokens.size(), 100u);
  EXPECT_EQ(trained.tokens[4], "[MASK]");
  EXPECT_EQ(trained.tokens[5], "\u4E00");
  EXPECT_EQ(trained.characters, 500);
  EXPECT_EQ(trained.characters_kept, 95);
  EXPECT_NEAR(trained.coverage, (95 + 16) / 516.0, 1e-12);
  EXPECT_THAT(trained.cut, HasSubstr("\u4E5F"));
  EXPECT_FALSE(trained.exhausted);
}

TEST(VocabularyTrainer, RareCharactersTakeTheirWordsWithThem) {
  TrainedVocabulary trained =
      train_vocabulary(count({"ab ab ab ab zb zb"}), {.vocab_size = 100, .limit_alphabet = 2});
  EXPECT_THAT(trained.tokens,
              ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##b", "ab"));
  EXPECT_EQ(trained.cut, "z");
}

TEST(VocabularyTrainer, RefusesWhatCannotBe) {
  std::vector<WordCount> words = count({"a"});
  EXPECT_THROW(train_vocabulary(words, {.vocab_size = 5}), Error);
  EXPECT_THROW(train_vocabulary(words, {.limit_alphabet = 0}), Error);
  EXPECT_THROW(train_vocabulary(words, {.min_frequency = 0}), Error);
  EXPECT_THROW(train_vocabulary({}, {}), Error);
}

TEST(WordCounter, CountsNormalizedWordsAtAnyNumberOfThreads) {
  std::vector<std::string> lines = {"Der Café, café: a.Σ a.Σ ΑΣ", "中a中", "",
                                    "x" + std::string(300, 'y')};
  auto pairs = [](const std::vector<WordCount>& words) {
    std::map<std::string, int64_t> result;
    for (const WordCount& w : words) result[w.word] = w.count;
    return result;
  };
  std::map<std::string, int64_t> want = {{"der", 1}, {"cafe", 2}, {",", 1},  {":", 1}, {"a", 3},
                                         {".", 2},   {"ς", 2},    {"ας", 1}, {"中", 2}};
  EXPECT_EQ(pairs(count(lines)), want);
  std::vector<std::string> many = random_lines(2000, 5);
  std::vector<WordCount> one = count(many, 1), eight = count(many, 8);
  ASSERT_EQ(one.size(), eight.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].word, eight[i].word);
    EXPECT_EQ(one[i].count, eight[i].count);
  }
}

}  // namespace
}  // namespace bertrain
