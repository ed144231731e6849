// Greedy longest-match-first cutting of a word into pieces (Wu et al. 2016 as BERT uses it: "##"
// before continuations).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace bertrain {

struct WordPieceMatch {
  int32_t id;
  uint32_t end;  // bytes of the word covered up to here
};

// A trie of all tokens in a double array (Aoe 1989): one load a byte. Continuations hang below "##"
// in the same trie.
class WordPiece {
 public:
  WordPiece(const Vocabulary& vocabulary, int64_t max_chars_per_word);

  int32_t unknown() const { return unknown_; }
  // Replaces `out` by the pieces of a word in UTF-8: one [UNK] over the whole word if it has more
  // than max_chars_per_word code points or cannot be covered. An empty word has none.
  void match(std::string_view word, std::vector<WordPieceMatch>& out) const;

 private:
  struct Node {
    uint32_t base = 0;           // the child by byte c is at base + c …
    uint32_t parent = kNowhere;  // … if its parent is this node
    int32_t id = -1;             // of the token that ends here
  };
  static constexpr uint32_t kNowhere = 0xFFFFFFFF;

  class Builder;
  uint32_t child(uint32_t node, char byte) const {
    uint32_t at = nodes_[node].base + static_cast<unsigned char>(byte);
    return nodes_[at].parent == node ? at : kNowhere;
  }

  std::vector<Node> nodes_;  // 256 empty ones at the end, so that base + c is always inside
  uint32_t continuation_;    // the node of "##", kNowhere if no token begins so
  int32_t unknown_;
  size_t max_chars_;
};

}  // namespace bertrain
