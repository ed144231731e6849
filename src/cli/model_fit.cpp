// Heads, casing and rows that contradict each other.
#include "cli/model_fit.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/tf2_objects.h"

namespace bertrain {
namespace {

// Words that were added to a vocabulary for lower-cased text may have capitals; in one for cased text
// a third of the pieces has.
constexpr size_t kCasedShare = 20;  // 1 of so many
// Tables are padded to multiples of 8, 64 or 128.
constexpr int64_t kPadding = 128;

bool is_special(std::string_view piece) { return piece.starts_with('[') && piece.ends_with(']'); }

bool has_between(std::string_view piece, char first, char last) {
  return std::any_of(piece.begin(), piece.end(), [&](char c) { return c >= first && c <= last; });
}

}  // namespace

void require_heads(const std::string& weights, const BertConfig& config, const std::string& place) {
  if (format_of_checkpoint(weights) != CheckpointFormat::tf_bundle) return;
  std::unique_ptr<CheckpointReader> reader = open_checkpoint(weights);
  if (!reader->object_graph()) return;
  std::optional<int64_t> heads = attention_heads(*reader);
  if (!heads || *heads == config.num_attention_heads) return;
  throw error("{}: its attention has {} heads, and {} says {} (num_attention_heads)", reader->uri(),
              *heads, place, config.num_attention_heads);
}

void require_casing(const Tokenizer& tokenizer, bool said) {
  if (tokenizer.byte_bpe()) return;
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  size_t capital = 0, small = 0;
  for (const std::string& piece : vocabulary.tokens()) {
    if (is_special(piece)) continue;
    if (has_between(piece, 'A', 'Z')) {
      ++capital;
    } else if (has_between(piece, 'a', 'z')) {
      ++small;
    }
  }
  if (!tokenizer.options().do_lower_case) {
    if (capital > 0 || small == 0) return;
    log_warning(
        "{}: none of {} pieces has a capital letter, and the text is not lower-cased: words with "
        "capitals are [UNK]",
        vocabulary.name(), vocabulary.size());
    return;
  }
  if (capital * kCasedShare <= vocabulary.size()) return;
  std::string problem =
      fmt::format("{}: {} of {} pieces have capital letters, and lower-cased text never meets them",
                  vocabulary.name(), capital, vocabulary.size());
  if (!said) {
    throw error(
        "{}: the model is for cased text; say --nodo_lower_case, or \"do_lower_case\": false in "
        "the "
        "tokenizer_config.json of its folder",
        problem);
  }
  log_warning("{}; do_lower_case of its tokenizer asks for it", problem);
}

void warn_of_spare_rows(const Vocabulary& vocabulary, const BertConfig& config,
                        const std::string& place) {
  int64_t pieces = static_cast<int64_t>(vocabulary.size());
  if (config.vocab_size - pieces < kPadding) return;
  log_warning("{} has {} pieces, the word embeddings of {} have {} rows; is it that model's?",
              vocabulary.name(), pieces, place, config.vocab_size);
}

}  // namespace bertrain
