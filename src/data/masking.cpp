// Masking, draw for draw that of google-research/bert's create_masked_lm_predictions.
#include "data/masking.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace bertrain {

MaskingVocabulary::MaskingVocabulary(const Vocabulary& vocabulary)
    : classify(vocabulary.id(kClassify)),
      separate(vocabulary.id(kSeparate)),
      mask(vocabulary.id(kMask)) {
  for (const std::string& token : vocabulary.distinct()) words.push_back(vocabulary.find(token));
  for (const std::string& token : vocabulary.tokens())
    continuation.push_back(token.starts_with("##"));
}

Masker::Masker(MaskingVocabulary vocabulary, MaskingOptions options)
    : vocabulary_(std::move(vocabulary)), options_(options) {
  check(options_.max_predictions_per_seq >= 1, "at least one prediction an example");
}

size_t Masker::count(size_t tokens) const {
  // Python rounds halves to the even number, as the default rounding mode does.
  double wanted = std::nearbyint(static_cast<double>(tokens) * options_.masked_lm_prob);
  return static_cast<size_t>(
      std::min(static_cast<double>(options_.max_predictions_per_seq), std::max(1.0, wanted)));
}

void Masker::find_candidates(std::span<const int32_t> tokens) {
  indices_.clear();
  candidates_.clear();
  for (uint32_t i = 0; i < tokens.size(); ++i) {
    int32_t token = tokens[i];
    if (token == vocabulary_.classify || token == vocabulary_.separate) continue;
    auto place = static_cast<uint32_t>(indices_.size());
    indices_.push_back(i);
    // The reference joins to the candidate before, even across a [SEP] when truncation cut B within a word.
    bool joins = options_.do_whole_word_mask && !candidates_.empty() &&
                 vocabulary_.continuation[static_cast<size_t>(token)];
    if (joins) {
      candidates_.back().end = place + 1;
    } else {
      candidates_.push_back({place, place + 1});
    }
  }
}

int32_t Masker::replacement(int32_t token, PythonRandom& random) const {
  if (random.random() < 0.8) return vocabulary_.mask;
  if (random.random() < 0.5) return token;
  return vocabulary_.words[random.below(vocabulary_.words.size())];
}

bool Masker::mask(std::span<const int32_t> tokens, PythonRandom& random,
                  std::vector<MaskedToken>& masked) {
  find_candidates(tokens);
  random.shuffle(candidates_);
  size_t before = masked.size(), wanted = count(tokens.size());
  for (const Candidate& candidate : candidates_) {
    size_t chosen = masked.size() - before;
    if (chosen >= wanted) break;
    if (chosen + (candidate.end - candidate.begin) > wanted) continue;
    for (uint32_t i = candidate.begin; i < candidate.end; ++i) {
      uint32_t position = indices_[i];
      masked.push_back({position, replacement(tokens[position], random)});
    }
  }
  std::sort(masked.begin() + static_cast<ptrdiff_t>(before), masked.end(),
            [](const MaskedToken& a, const MaskedToken& b) { return a.position < b.position; });
  return !candidates_.empty();
}

}  // namespace bertrain
