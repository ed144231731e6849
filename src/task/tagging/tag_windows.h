// Words of a sentence as pieces, and long sentences as windows, so that each word has exactly one place
// where its tag is learnt or read: its first piece, in the window that shows most around it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace bertrain {

struct TagWindow {
  std::vector<int32_t> ids;         // [CLS] pieces of the shown words [SEP]; at most max_seq_length
  uint32_t first_word = 0;          // tagged here, and the words behind it
  std::vector<uint32_t> positions;  // in ids, of the first piece of each of these words
};

class WordPieces {
 public:
  // Throws a usage error if max_seq_length has no room for a piece.
  WordPieces(const Tokenizer& tokenizer, int64_t max_seq_length);

  // Each word is cut by itself; in byte-level BPE as if a blank stood before it. A word that has no
  // pieces (control characters alone) is the unknown piece, so that it has a tag like any other.
  //
  // A sentence that does not fit is cut between words. Each window but the first begins, and each but
  // the last ends, with words that are tagged in its neighbour: up to a quarter of its pieces. A word
  // longer than a window keeps the pieces at its start. Every word is tagged in one window; windows
  // are in the order of their words. No words: one window without any. Safe from many threads.
  std::vector<TagWindow> windows(const std::vector<std::string>& words) const;

 private:
  const Tokenizer& tokenizer_;
  size_t room_;  // pieces of a window
  int32_t classify_, separate_, unknown_;
};

}  // namespace bertrain
