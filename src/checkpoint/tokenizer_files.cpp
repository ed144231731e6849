// Tokenizer files: BERT's normalizer, splitter and WordPiece in the schema of `tokenizers`.
#include "checkpoint/tokenizer_files.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

struct Special {
  const char *role, *token;
};
constexpr Special kSpecials[] = {{"unk_token", "[UNK]"},
                                 {"sep_token", "[SEP]"},
                                 {"pad_token", "[PAD]"},
                                 {"cls_token", "[CLS]"},
                                 {"mask_token", "[MASK]"}};

// Of equal lines the last counts, as in the tokenizer.
std::optional<int64_t> id_of(const std::vector<std::string>& tokens, std::string_view token) {
  auto found = std::find(tokens.rbegin(), tokens.rend(), token);
  if (found == tokens.rend()) return std::nullopt;
  return tokens.rend() - found - 1;
}

// {token: id}, in the order of ids.
Json ids_by_token(const std::vector<std::string>& tokens) {
  std::unordered_map<std::string_view, size_t> last;
  for (size_t i = 0; i < tokens.size(); ++i) last[tokens[i]] = i;
  Json ids = Json::object();
  // Past the object's own insertion, which searches all that is there for the name.
  auto& entries = ids.get_ref<Json::object_t&>();
  entries.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (last[tokens[i]] == i) entries.push_back({tokens[i], Json(i)});
  }
  return ids;
}

Json piece(const char* token, int segment) {
  return {{"SpecialToken", {{"id", token}, {"type_id", segment}}}};
}

Json sequence(const char* name, int segment) {
  return {{"Sequence", {{"id", name}, {"type_id", segment}}}};
}

// [CLS] A [SEP], or [CLS] A [SEP] B [SEP] with B in segment 1.
Json template_of(int64_t cls, int64_t sep) {
  auto special = [](const char* token, int64_t id) -> Json {
    return {{"id", token}, {"ids", {id}}, {"tokens", {token}}};
  };
  return {{"type", "TemplateProcessing"},
          {"single", Json::array({piece("[CLS]", 0), sequence("A", 0), piece("[SEP]", 0)})},
          {"pair", Json::array({piece("[CLS]", 0), sequence("A", 0), piece("[SEP]", 0),
                                sequence("B", 1), piece("[SEP]", 1)})},
          {"special_tokens", {{"[CLS]", special("[CLS]", cls)}, {"[SEP]", special("[SEP]", sep)}}}};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> special_tokens(bool roberta) {
  if (roberta) {
    return {{"unk_token", "<unk>"},
            {"sep_token", "</s>"},
            {"pad_token", "<pad>"},
            {"cls_token", "<s>"},
            {"mask_token", "<mask>"}};
  }
  std::vector<std::pair<std::string, std::string>> all;
  for (const Special& s : kSpecials) all.emplace_back(s.role, s.token);
  return all;
}

std::string vocabulary_text(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token + "\n";
  return text;
}

std::vector<std::pair<std::string, Json>> tokenizer_files(const ModelFolder& folder) {
  auto require = [&](const char* token) {
    std::optional<int64_t> id = id_of(folder.vocabulary, token);
    if (!id) throw error("the vocabulary has no {}, which a model folder needs", token);
    return *id;
  };
  int64_t cls = require("[CLS]"), sep = require("[SEP]");
  require("[UNK]");
  Json strip = folder.strip_accents ? Json(*folder.strip_accents) : Json();
  Json added = Json::array(), specials = Json::object();
  // BertTokenizer would rebuild the tokenizer from vocab.txt, with its own limit of 100 characters a
  // word; this class takes tokenizer.json as it is, but must be told of the segments.
  Json config = {
      {"tokenizer_class", "PreTrainedTokenizerFast"},
      {"model_input_names", {"input_ids", "token_type_ids", "attention_mask"}},
      {"do_lower_case", folder.do_lower_case},
      {"strip_accents", strip},
      {"tokenize_chinese_chars", true},
      {"clean_up_tokenization_spaces", true},
      {"max_input_chars_per_word", folder.max_chars_per_word},
      {"special_tokens_in_text", folder.special_tokens_in_text},
      {"split_special_tokens", !folder.special_tokens_in_text},  // the same to transformers
      {"model_max_length", folder.max_length}};
  for (const Special& s : kSpecials) {
    std::optional<int64_t> id = id_of(folder.vocabulary, s.token);
    if (!id) continue;
    config[s.role] = s.token;
    specials[s.role] = s.token;
    added.push_back({{"id", *id},
                     {"content", s.token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  std::sort(added.begin(), added.end(),
            [](const Json& a, const Json& b) { return a["id"] < b["id"]; });
  Json tokenizer = {{"version", "1.0"},
                    {"truncation", nullptr},
                    {"padding", nullptr},
                    {"added_tokens", added},
                    {"normalizer",
                     {{"type", "BertNormalizer"},
                      {"clean_text", true},
                      {"handle_chinese_chars", true},
                      {"strip_accents", strip},
                      {"lowercase", folder.do_lower_case}}},
                    {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                    {"post_processor", template_of(cls, sep)},
                    {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
                    {"model",
                     {{"type", "WordPiece"},
                      {"unk_token", "[UNK]"},
                      {"continuing_subword_prefix", "##"},
                      {"max_input_chars_per_word", folder.max_chars_per_word},
                      {"vocab", ids_by_token(folder.vocabulary)}}}};
  return {{"tokenizer.json", std::move(tokenizer)},
          {"tokenizer_config.json", std::move(config)},
          {"special_tokens_map.json", std::move(specials)}};
}

}  // namespace bertrain
