// How alike two answers are: the normalization of the official scoring of SQuAD, and F1 over words or
// Chinese characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

enum class ScoreUnit {
  // evaluate-v1.1.py's and evaluate-v2.0.py's: lower case, without ASCII punctuation and the words a, an
  // and the; words are what lies between blanks. Common words count wherever they stand.
  word,
  // For Chinese, as CMRC 2018 scores: lower case, without punctuation of any script; each ideograph is a
  // word of its own. The longest run that is in both counts. (Its script cuts what is not Chinese by
  // NLTK; here blanks do.)
  character,
};

struct NormalizedAnswer {
  std::string text;                // words with a blank between; equal texts match exactly
  std::vector<std::string> words;  // of the unit
};
NormalizedAnswer normalize_answer(std::string_view answer, ScoreUnit unit);

// F1 of the words that both have, 0 … 1; 0 if there are none in common, also where both are empty.
double answer_f1(const NormalizedAnswer& gold, const NormalizedAnswer& predicted, ScoreUnit unit);

}  // namespace bertrain
