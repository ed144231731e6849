// Heads, casing and rows that contradict each other.
#include "cli/model_fit.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/tf2_objects.h"
#include "text/byte_bpe.h"

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

std::vector<UntiedLayer> untied_layers(const CheckpointReader& weights) {
  constexpr std::string_view kTable = "embeddings.word_embeddings.weight";
  constexpr std::string_view kDecoder = "decoder.";
  std::string table;
  for (const auto& [name, type] : weights.tensors()) {
    if (name.ends_with(kTable)) table = name;
  }
  std::vector<UntiedLayer> untied;
  for (const auto& [name, type] : weights.tensors()) {
    for (std::string_view part : {"weight", "bias"}) {
      for (std::string_view head : {"cls.predictions.", "lm_head."}) {
        if (!name.ends_with(fmt::format("{}{}{}", head, kDecoder, part))) continue;
        std::string start = name.substr(0, name.size() - part.size() - kDecoder.size());
        std::string tied = part == "weight" ? table : start + "bias";
        if (!weights.tensors().contains(tied)) continue;
        Array a = weights.read(name), b = weights.read(tied);
        if (a.type == b.type && std::memcmp(a.bytes.get(), b.bytes.get(), a.byte_size()) == 0) {
          continue;
        }
        untied.push_back({name, std::move(tied)});
      }
    }
  }
  return untied;
}

void require_tied(const CheckpointReader& weights) {
  for (const UntiedLayer& layer : untied_layers(weights)) {
    throw error(
        "{}: '{}' is not equal to '{}': an output layer of its own, which this program has not "
        "(its masked LM has the word embeddings for one); the encoder alone can be used, to embed "
        "or to finetune",
        weights.uri(), layer.name, layer.tied);
  }
}

void require_padding(const Tokenizer& tokenizer, const BertConfig& config,
                     const std::string& place) {
  if (!tokenizer.byte_bpe() || config.family != Family::roberta) return;
  int32_t id = tokenizer.vocabulary().find(tokenizer.special().pad);
  if (id == config.first_position - 1) return;
  throw error(
      "{}: pad_token_id is {}, and {} has the id {} in {}: all positions would be others than the "
      "model's",
      place, config.first_position - 1, tokenizer.special().pad, id, tokenizer.vocabulary().name());
}

void require_same_pieces(const Tokenizer& given, const Tokenizer& own, bool part) {
  if ((given.byte_bpe() == nullptr) != (own.byte_bpe() == nullptr))
    return;  // the shape is held against it
  const Vocabulary &mine = given.vocabulary(), &theirs = own.vocabulary();
  for (size_t id = 0; id < std::min(mine.size(), theirs.size()); ++id) {
    if (mine.tokens()[id] == theirs.tokens()[id]) continue;
    throw usage_error(
        "--vocab_file={}: its piece {} is '{}', and that of the model's own {} is '{}': ids would "
        "mean other pieces than in training",
        mine.name(), id, mine.tokens()[id], theirs.name(), theirs.tokens()[id]);
  }
  if (mine.size() < theirs.size() && !part) {
    throw usage_error(
        "--vocab_file={}: it has {} pieces, the first of the {} of the model's own {}: words would "
        "be cut into other pieces than in training; leave the option out",
        mine.name(), mine.size(), theirs.size(), theirs.name());
  }
  if (!given.byte_bpe() || !own.byte_bpe()) return;
  const auto &merges = given.byte_bpe()->merges, &known = own.byte_bpe()->merges;
  auto same = [](const ByteBpeMerge& a, const ByteBpeMerge& b) {
    return a.left == b.left && a.right == b.right && a.result == b.result;
  };
  auto [mine_at, known_at] =
      std::mismatch(merges.begin(), merges.end(), known.begin(), known.end(), same);
  if (mine_at == merges.end() && known_at == known.end()) return;
  throw usage_error(
      "--vocab_file={}: {} merges, of {} in the model's own {}; they differ from merge {} on",
      mine.name(), merges.size(), known.size(), theirs.name(), mine_at - merges.begin() + 1);
}

Vocabulary longer_vocabulary(Vocabulary vocabulary, const std::string& tokenizer_json) {
  std::optional<Vocabulary> newer = Vocabulary::read_tokenizer(tokenizer_json, {});
  if (!newer) return vocabulary;
  for (size_t id = 0; id < std::min(vocabulary.size(), newer->size()); ++id) {
    const std::string &old = vocabulary.tokens()[id], &other = newer->tokens()[id];
    if (old.empty() || other.empty() || other == old)
      continue;  // of equal lines the last has its id
    throw error(
        "{}: the piece {} is '{}', and '{}' in {}; correct the one that the model was not "
        "trained with",
        vocabulary.name(), id, old, other, tokenizer_json);
  }
  if (newer->size() <= vocabulary.size()) return vocabulary;
  log_warning("{} has {} pieces, the first of the {} of {}, which are taken", vocabulary.name(),
              vocabulary.size(), newer->size(), tokenizer_json);
  return *std::move(newer);
}

void require_same_shape(const BertConfig& given, const std::string& file, const BertConfig& own,
                        const std::string& place) {
  if (given.family != own.family) return;  // the vocabulary tells which one is right
  Json mine = config_to_hugging_face(given), theirs = config_to_hugging_face(own);
  for (const char* key : {"hidden_act", "layer_norm_eps", "num_attention_heads", "pad_token_id"}) {
    if (mine[key] == theirs[key]) continue;
    throw usage_error(
        "--bert_config_file={}: {} is {}, and {} says {} of its model (in transformers' terms); "
        "leave the option out, or correct what is wrong",
        file, key, mine[key].dump(), place, theirs[key].dump());
  }
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
        "the tokenizer_config.json of its folder",
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
