// One text or two as the ids that a model reads: [CLS] A [SEP], or [CLS] A [SEP] B [SEP]; RoBERTa's
// are <s> A </s>, or <s> A </s></s> B </s>.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/example.h"
#include "text/tokenizer.h"

namespace bertrain {

struct PairInput {
  std::vector<int32_t> ids;  // at most max_seq_length
  uint32_t first =
      0;             // ids of segment 0: [CLS] A [SEP], RoBERTa's all; the others are of segment 1
  uint64_t cut = 0;  // pieces that did not fit
  uint64_t pieces = 0;  // of the texts, with those
};

// The reference's rule: a single text is cut at its end; of two, the longer one loses its last
// piece (B when they are equal) until both fit. A B without any piece makes a single text.
class PairEncoder {
 public:
  // Throws a usage error if max_seq_length has no room for one piece of each text (BERT's pairs: 5).
  PairEncoder(const Tokenizer& tokenizer, int64_t max_seq_length, bool pairs);
  static int64_t least_length(const SpecialTokens& special, bool pairs) {
    return pairs ? 4 + special.separators_between : 3;
  }
  PairInput encode(std::string_view a, std::string_view b) const;  // safe from many threads

  // The steps of encode(), for other ways to shorten a text.
  std::vector<int32_t> pieces(std::string_view text) const;
  struct Kept {
    size_t a, b;
  };
  Kept kept(size_t a, size_t b) const;  // of so many pieces, how many fit
  // With the special tokens; `a` and `b` fit. An empty B makes a single text.
  PairInput join(std::span<const int32_t> a, std::span<const int32_t> b) const;

 private:
  void close(PairInput& input, std::span<const int32_t> b) const;

  const Tokenizer& tokenizer_;
  size_t max_length_, separators_;
  int32_t classify_, separate_;
};

// The features input_ids and segment_ids that the packer takes.
void add_input(Example& example, const int32_t* ids, size_t length, size_t first);

}  // namespace bertrain
