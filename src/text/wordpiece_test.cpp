// Tests of WordPiece against the plain search over substrings that the reference does.
#include "text/wordpiece.h"

#include <gtest/gtest.h>

#include <random>

#include "storage/storage.h"

namespace bertrain {
namespace {

// The reference's loop: the longest substring first.
std::vector<int32_t> plain_search(const Vocabulary& v, const std::string& word) {
  std::vector<int32_t> ids;
  for (size_t at = 0; at < word.size();) {
    size_t end = word.size();
    int32_t id = -1;
    for (; end > at && id < 0; --end) id = v.find((at ? "##" : "") + word.substr(at, end - at));
    if (id < 0) return {v.id("[UNK]")};
    ids.push_back(id);
    at = end + 1;
  }
  return ids;
}

std::vector<int32_t> match(const WordPiece& w, const std::string& word) {
  std::vector<WordPieceMatch> matches;
  w.match(word, matches);
  std::vector<int32_t> ids;
  for (const WordPieceMatch& m : matches) ids.push_back(m.id);
  return ids;
}

TEST(WordPiece, EqualsThePlainSearchOnRandomVocabularies) {
  std::mt19937 rng(3);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> tokens = {"[UNK]"};
    for (int i = 0; i < 300; ++i) {
      std::string token = rng() % 2 ? "##" : "";
      for (size_t n = 1 + rng() % 4; n > 0; --n) token += static_cast<char>('a' + rng() % 4);
      tokens.push_back(token);
    }
    Vocabulary v(tokens);
    WordPiece w(v, 200);
    for (int i = 0; i < 500; ++i) {
      std::string word;
      for (size_t n = 1 + rng() % 12; n > 0; --n) word += static_cast<char>('a' + rng() % 5);
      ASSERT_EQ(match(w, word), plain_search(v, word)) << word;
    }
  }
}

TEST(WordPiece, FindsEveryTokenOfARealVocabulary) {
  Vocabulary v = Vocabulary::read(BERTRAIN_TEST_DATA "/text/vocab-cased.txt");
  WordPiece w(v, 1000);  // one token is longer than the usual limit
  for (const std::string& token : v.tokens()) {
    if (token.starts_with("##")) continue;
    EXPECT_EQ(match(w, token), std::vector<int32_t>{v.id(token)}) << token;
  }
}

TEST(WordPiece, Edges) {
  WordPiece no_continuations(Vocabulary({"[UNK]", "a", "", "##"}), 3);
  EXPECT_EQ(match(no_continuations, ""), std::vector<int32_t>{});
  EXPECT_EQ(match(no_continuations, "a"), std::vector<int32_t>{1});
  EXPECT_EQ(match(no_continuations, "aa"), std::vector<int32_t>{0});
  EXPECT_EQ(match(no_continuations, "##"), std::vector<int32_t>{3});
  EXPECT_EQ(match(WordPiece(Vocabulary({"[UNK]", "b"}), 3), "ab"), std::vector<int32_t>{0});
}

}  // namespace
}  // namespace bertrain
