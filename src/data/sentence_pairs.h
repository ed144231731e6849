// Pairs of text pieces for next-sentence prediction: Devlin et al. 2019, section 3.1, task 2.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "data/documents.h"
#include "data/python_random.h"

namespace bertrain {

struct PairOptions {
  int64_t max_seq_length = 128;  // [CLS] A [SEP] B [SEP], ≥ 5
  double short_seq_prob = 0.1;   // of the passes over a document that aim at a shorter length
};

struct SentencePair {
  Documents::Run a, b;
  bool random_next = false;  // B comes from elsewhere
};

struct PairCounts {
  uint64_t truncated = 0;   // pairs that were cut to the length
  uint64_t cut_tokens = 0;  // tokens cut off by that
  uint64_t kept_in_order =
      0;  // random pairs that a single document cannot give; they are true pairs instead
  uint64_t dropped = 0;  // of these, text of one token, of which no pair can be made
};

// One pass over a document: calls `take` with every pair, in the reference's order, draw for draw. `take` may draw from
// the same generator. With a single document there is no other to take B from: the draws are made all the same, and B is
// what really follows A (within the sentence if there is only one).
void make_sentence_pairs(const Documents& documents, const std::vector<size_t>& order, size_t index,
                         const PairOptions& options, PythonRandom& random, PairCounts& counts,
                         const std::function<void(const SentencePair&)>& take);

}  // namespace bertrain
