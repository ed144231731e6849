// Which tokens of a pre-training example are hidden, and what stands in their place: Devlin et al. 2019, section 3.1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/python_random.h"
#include "text/vocabulary.h"

namespace bertrain {

struct MaskingOptions {
  int64_t max_predictions_per_seq = 20;  // ≥ 1
  double masked_lm_prob = 0.15;          // of the tokens, specials included
  bool do_whole_word_mask = false;  // a piece that begins with ## is hidden together with its word
};

struct MaskedToken {
  uint32_t position = 0;    // in the tokens
  int32_t replacement = 0;  // what the model sees there: [MASK], the token itself, or any token
};

// What masking needs to know of a vocabulary.
struct MaskingVocabulary {
  explicit MaskingVocabulary(const Vocabulary& vocabulary);
  int32_t classify, separate, mask;
  std::vector<int32_t>
      words;  // distinct tokens in the order of the file: what random ones are drawn from
  std::vector<bool> continuation;  // by id: begins with ##
};

// Chooses as the reference does, draw by draw, so that equal generators give equal examples. Keeps scratch memory
// between calls.
class Masker {
 public:
  Masker(MaskingVocabulary vocabulary, MaskingOptions options);
  const MaskingVocabulary& vocabulary() const { return vocabulary_; }

  // Appends the choices for `tokens` ([CLS] A [SEP] B [SEP]) to `masked`, sorted by position; may be none when every
  // word is longer than the number of choices. False: there is nothing but [CLS] and [SEP] to choose from.
  bool mask(std::span<const int32_t> tokens, PythonRandom& random,
            std::vector<MaskedToken>& masked);

 private:
  struct Candidate {
    uint32_t begin, end;  // in indices_
  };
  size_t count(size_t tokens) const;
  void find_candidates(std::span<const int32_t> tokens);
  int32_t replacement(int32_t token, PythonRandom& random) const;
  MaskingVocabulary vocabulary_;
  MaskingOptions options_;
  std::vector<uint32_t> indices_;
  std::vector<Candidate> candidates_;
};

}  // namespace bertrain
