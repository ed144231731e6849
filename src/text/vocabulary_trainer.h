// Training of a WordPiece vocabulary: characters first, then again and again the most frequent pair of neighbours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/word_counts.h"

namespace bertrain {

struct VocabularyTrainerOptions {
  int64_t vocab_size = 30522;
  int64_t limit_alphabet = 1000;  // most frequent characters kept; words with any other are [UNK]
  int64_t min_frequency = 2;      // a pair that stands less often is not joined
};

void check_options(const VocabularyTrainerOptions& options);  // a usage error for what cannot be

struct TrainedVocabulary {
  std::vector<std::string>
      tokens;  // [PAD] [UNK] [CLS] [SEP] [MASK], characters by code point, joined pairs by frequency
  int64_t characters = 0;  // distinct ones in the text
  int64_t characters_kept = 0;
  double coverage =
      1;  // share of the words of the text (each as often as it stands) whose characters were kept
  std::string cut;  // the most frequent characters that were not, at most ten
  bool exhausted =
      false;  // fewer than vocab_size tokens: no pair stands min_frequency times any more
};

// The pair merges of Sennrich et al. 2016 with "##" on pieces inside a word, as Hugging Face's WordPiece trainer makes
// them; pair counts are kept up to date instead of being counted anew. Equal counts go by the pieces' numbers, so the
// result depends on the words alone. `words` are in one fixed order. Throws Error if there are none, a usage error for
// a size that has no room for the special tokens and one character.
TrainedVocabulary train_vocabulary(std::span<const WordCount> words,
                                   const VocabularyTrainerOptions& options);

}  // namespace bertrain
