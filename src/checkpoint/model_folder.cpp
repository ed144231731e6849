// The model folder: config.json and the weights under Hugging Face's names, the tokenizer's files.
#include "checkpoint/model_folder.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/checked_json.h"
#include "base/error.h"
#include "checkpoint/tokenizer_files.h"
#include "storage/file_group.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr std::string_view kConfig = "config.json", kVocabulary = "vocab.txt",
                           kPieces = "vocab.json", kMerges = "merges.txt",
                           kTokenizer = "tokenizer.json",
                           kTokenizerConfig = "tokenizer_config.json", kOurs = "bertrain.json",
                           kSpecialTokens = "special_tokens_map.json",
                           kWeights = "model.safetensors";
// Real ones have some kilobytes, but a classifier may have 1 MiB of labels, each in config.json twice
// and, where it holds control characters, six times as long.
constexpr uint64_t kMaxJson = 16 << 20;
constexpr uint64_t kMaxTokenizer = 64 << 20;  // it holds the vocabulary

Json read_json(const std::string& uri) {
  Json json = parse_json(read_file_up_to(uri, kMaxJson), uri);
  JsonValue(json, uri).require_object();
  return json;
}

std::string text_of(const Json& json) { return json.dump(2) + "\n"; }

Json config_of(const ModelFolder& folder) {
  Json config = {{"architectures", {folder.architecture}}, {"model_type", "bert"}};
  config.update(folder.config);
  if (folder.classifier_dropout) config["classifier_dropout"] = *folder.classifier_dropout;
  if (!folder.problem_type.empty()) config["problem_type"] = folder.problem_type;
  if (!folder.labels.empty()) {
    // Keys are distinct, so nothing need be searched, which takes the square of their number.
    Json::object_t names, numbers;
    for (size_t i = 0; i < folder.labels.size(); ++i) {
      names.push_back({std::to_string(i), folder.labels[i]});
      numbers.push_back({folder.labels[i], i});
    }
    config["id2label"] = std::move(names);
    config["label2id"] = std::move(numbers);
  }
  return config;
}

// Takes a key out of the config; null when it is not there.
Json take(Json& config, const char* key) {
  Json value = config.value(key, Json());
  config.erase(key);
  return value;
}

std::vector<std::string> labels_of(const Json& names, const std::string& uri) {
  if (names.is_null()) return {};
  std::vector<std::optional<std::string>> labels(names.size());
  for (const auto& [key, name] : names.items()) {
    size_t number = labels.size();
    std::from_chars(key.data(), key.data() + key.size(), number);
    if (!names.is_object() || number >= labels.size() || labels[number] || !name.is_string()) {
      throw error("{}: id2label must name the classes 0 … {}, each once", uri, labels.size() - 1);
    }
    labels[number] = name.get<std::string>();
  }
  std::vector<std::string> all;
  for (auto& label : labels) all.push_back(std::move(*label));
  return all;
}

std::string problem_type_of(const Json& config, const std::string& uri) {
  std::optional<JsonValue> type = JsonValue(config, uri).find("problem_type");
  if (!type || type->is_null()) return "";
  for (const char* known :
       {"regression", "single_label_classification", "multi_label_classification"}) {
    if (type->json() == known) return known;
  }
  type->fail("regression, single_label_classification or multi_label_classification");
}

// Settings of transformers' tokenizer that would give other tokens than ours: better said than
// trained on. Tokens are texts, or objects with the text as "content".
void refuse_other_tokenizers(const JsonValue& config, bool roberta) {
  for (const char* key : {"tokenize_chinese_chars", "do_basic_tokenize"}) {
    if (auto on = config.find(key); on && !on->truth()) {
      on->fail("true, as this program tokenizes in no other way,");
    }
  }
  if (auto never = config.find("never_split");
      never && !never->is_null() && !never->json().empty()) {
    never->fail("null, as this program splits all words,");
  }
  for (const auto& [role, token] : special_tokens(roberta)) {
    std::optional<JsonValue> named = config.find(role);
    if (!named || named->is_null()) continue;
    JsonValue text = named->json().is_object() ? named->at("content") : *named;
    if (text.text() != token) {
      text.fail(fmt::format("\"{}\", as this program knows no other name for it,", token));
    }
  }
}

void read_tokenizer_config(const std::string& uri, ModelFolder& folder) {
  if (!exists(uri)) return;
  Json config = read_json(uri);
  JsonValue checked(config, uri);
  if (auto lower = checked.find("do_lower_case"); lower && !folder.is_roberta()) {
    folder.do_lower_case = lower->truth();
    folder.says_casing = true;
  }
  if (auto strip = checked.find("strip_accents"); strip && !strip->is_null()) {
    folder.strip_accents = strip->truth();
  }
  if (auto most = checked.find("max_input_chars_per_word")) {
    folder.max_chars_per_word = most->integer(1, INT32_MAX);
    folder.says_longest_word = true;
  }
  // Our own key: transformers takes them for pieces unless told otherwise, and no text of a user may
  // pretend to be two where nobody asked for it.
  if (auto special = checked.find("special_tokens_in_text")) {
    folder.special_tokens_in_text = special->truth();
  }
  refuse_other_tokenizers(checked, folder.is_roberta());
  // transformers writes 1e30 for "no limit": the number of positions is one then.
  if (config.contains("model_max_length") && config["model_max_length"].is_number_unsigned() &&
      config["model_max_length"].get<uint64_t>() < (uint64_t{1} << 40)) {
    folder.max_length = config["model_max_length"].get<int64_t>();
  }
}

void read_longest_word(const LargeJson& tokenizer, const std::string& uri, ModelFolder& folder) {
  auto model = tokenizer.find("model");
  if (model == tokenizer.end() || !model->is_object()) return;
  auto most = model->find("max_input_chars_per_word");
  if (most == model->end() || folder.says_longest_word) return;
  if (!most->is_number_unsigned() || *most == 0 || *most > uint64_t{INT32_MAX}) {
    throw error("{}: model.max_input_chars_per_word is {}; a number from 1 to {} expected", uri,
                most->dump(), INT32_MAX);
  }
  folder.max_chars_per_word = most->get<int64_t>();
}

// tokenizer.json says the casing too, in newer folders alone. Where both files do and differ, which of
// them counts depends on the class that reads them: no guess is made.
void read_tokenizer(const std::string& uri, ModelFolder& folder) {
  if (!exists(uri) || folder.is_roberta()) return;
  LargeJson json = parse_large_json(read_file_up_to(uri, kMaxTokenizer), uri);
  read_longest_word(json, uri, folder);
  auto normalizer = json.find("normalizer");
  if (normalizer == json.end() || !normalizer->is_object()) return;
  auto chinese = normalizer->find("handle_chinese_chars");
  if (chinese != normalizer->end() && *chinese == false) {
    throw error(
        "{}: normalizer.handle_chinese_chars is false; true expected, as this program tokenizes in "
        "no other way",
        uri);
  }
  auto lower = normalizer->find("lowercase");
  if (lower == normalizer->end() || !lower->is_boolean()) return;
  if (folder.says_casing && *lower != folder.do_lower_case) {
    throw error(
        "{}: normalizer.lowercase is {}, but {} has do_lower_case = {}; correct the one that the "
        "model was not trained with",
        uri, lower->get<bool>(), kTokenizerConfig, folder.do_lower_case);
  }
  folder.do_lower_case = lower->get<bool>();
  auto strip = normalizer->find("strip_accents");
  if (folder.strip_accents && strip != normalizer->end() && strip->is_boolean() &&
      *strip != *folder.strip_accents) {
    throw error(
        "{}: normalizer.strip_accents is {}, but {} has strip_accents = {}; correct the one that "
        "the model was not trained with",
        uri, strip->get<bool>(), kTokenizerConfig, *folder.strip_accents);
  }
  if (!folder.says_casing && !folder.strip_accents && strip != normalizer->end() &&
      strip->is_boolean()) {
    folder.strip_accents = strip->get<bool>();
  }
  folder.says_casing = true;
}

// Classes of the pooled classifier that the weights have under transformers' names; a classifier of tokens
// has no pooler.
std::optional<uint64_t> classes_of(std::string_view directory, bool roberta) {
  if (!is_checkpoint(directory)) return std::nullopt;
  std::optional<uint64_t> classes;
  bool pooled = roberta;
  std::string_view head = roberta ? "classifier.out_proj.weight" : "classifier.weight";
  auto weights = open_checkpoint(directory);
  for (const auto& [name, type] : weights->tensors()) {
    pooled = pooled || name.ends_with("pooler.dense.weight");
    if ((name == head || name == fmt::format("module.{}", head)) && type.shape.size() == 2) {
      classes = static_cast<uint64_t>(type.shape[0]);
    }
  }
  return pooled ? classes : std::nullopt;
}

// A folder of transformers whose classifier has no names for its classes, as it leaves out what is
// its default: two, or as many as older files say; or which does not say its class, but has its weights.
void add_default_labels(ModelFolder& folder, std::string_view directory) {
  std::string_view kind = "ForSequenceClassification";
  bool unnamed = folder.architecture.empty();
  if (!unnamed && (!folder.architecture.ends_with(kind) || !folder.labels.empty())) return;
  std::optional<uint64_t> there = classes_of(directory, folder.is_roberta());
  if (unnamed && !there) return;
  if (unnamed)
    folder.architecture = fmt::format("{}{}", folder.is_roberta() ? "Roberta" : "Bert", kind);
  bool regression = folder.problem_type == "regression";
  if (!folder.labels.empty() || (regression && !there)) return;
  Json count = take(folder.config, "num_labels");
  uint64_t classes = count.is_number_unsigned() ? count.get<uint64_t>() : regression ? 1 : 2;
  if (there && *there != classes) {
    throw error(
        "{}: {} classes (num_labels, or the default), but the classifier in the weights has {}; "
        "id2label names them",
        join_path(directory, kConfig), classes, *there);
  }
  for (uint64_t i = 0; i < std::min<uint64_t>(classes, kMostKeys); ++i) {
    folder.labels.push_back(fmt::format("LABEL_{}", i));
  }
}

}  // namespace

namespace {

void write_folder(std::string_view directory, const ModelFolder& folder,
                  const Named<ArrayType>& weights,
                  const std::function<Array(const std::string& name)>& read, const Rename& rename,
                  const Transposes& transposes, const std::vector<std::string>& replaced) {
  auto at = [&](std::string_view name) { return join_path(directory, name); };
  Named<ArrayType> types;
  Named<std::string> ours;  // by the new name
  for (const auto& [name, type] : weights) {
    std::string renamed = rename(name);
    if (renamed.empty()) throw error("{}: no name is known for parameter '{}'", directory, name);
    types[renamed] = type;
    if (transposes(name)) std::reverse(types[renamed].shape.begin(), types[renamed].shape.end());
    check(ours.emplace(renamed, name).second, "two parameters with one name in Hugging Face's");
  }
  // The weights take long and may fail, and the rest is nothing without them: all of it is on the
  // device before anything has its name.
  auto writer = create_checkpoint(at(kWeights), CheckpointFormat::safetensors, types);
  for (const auto& [renamed, name] : ours) {
    Array array = read(name);
    writer->write(renamed, transposes(name) ? transposed(array) : array);
  }
  writer->settle();
  FileGroup rest;
  rest.add(at(kConfig), text_of(config_of(folder)));
  for (const auto& [name, content] : folder.tokenizer) rest.add(at(name), content);
  if (folder.tokenizer.empty()) {
    rest.add(at(kVocabulary), vocabulary_text(folder.vocabulary));
    for (const auto& [name, json] : tokenizer_files(folder)) rest.add(at(name), text_of(json));
  }
  // What was read without that file has null there, which would not be read back.
  rest.add(at(kOurs), text_of(folder.bertrain.is_null() ? Json::object() : folder.bertrain));
  // A kill between two names leaves a folder without weights, not one with another model's.
  Storage& storage = storage_for(directory);
  storage.remove(at(kWeights));
  for (const std::string& file : replaced) storage.remove(file);
  rest.commit();
  writer->commit();
}

}  // namespace

void write_model_folder(std::string_view directory, const ModelFolder& folder,
                        const Named<Array>& weights, const Rename& rename,
                        const Transposes& transposes) {
  Named<ArrayType> types;
  for (const auto& [name, array] : weights) types.emplace(name, array.type);
  write_folder(directory, folder, types, [&](const std::string& name) { return weights.at(name); },
               rename, transposes, {});
}

void write_model_folder(std::string_view directory, const ModelFolder& folder,
                        const CheckpointReader& weights, const Rename& rename,
                        const Transposes& transposes, const std::vector<std::string>& replaced) {
  write_folder(
      directory, folder, weights.tensors(),
      [&](const std::string& name) { return weights.read(name); }, rename, transposes, replaced);
}

std::vector<std::string> model_files(std::string_view directory) {
  auto at = [&](std::string_view name) { return join_path(directory, name); };
  bool bytes = exists(at(kPieces)) || exists(at(kMerges));
  std::vector<std::string_view> names = {kConfig,        kTokenizer, kTokenizerConfig,
                                         kSpecialTokens, kOurs,      kWeights};
  names.insert(names.begin() + 1, bytes ? kPieces : kVocabulary);
  if (bytes) names.insert(names.begin() + 2, kMerges);
  return {names.begin(), names.end()};
}

std::vector<std::string> missing_model_files(std::string_view directory) {
  std::vector<std::string> missing = model_files(directory);
  std::erase_if(missing,
                [&](const std::string& name) { return exists(join_path(directory, name)); });
  return missing;
}

ModelFolder read_model_folder(std::string_view directory) {
  std::string config = join_path(directory, kConfig);
  if (!exists(config)) {
    throw error("{}: not a model folder: there is no {} in it", directory, kConfig);
  }
  ModelFolder folder;
  folder.config = read_json(config);
  Json architectures = take(folder.config, "architectures");
  if (architectures.is_array() && !architectures.empty() && architectures[0].is_string()) {
    folder.architecture = architectures[0].get<std::string>();
  }
  folder.labels = labels_of(take(folder.config, "id2label"), config);
  folder.config.erase("label2id");
  folder.problem_type = problem_type_of(folder.config, config);
  folder.config.erase("problem_type");
  if (Json rate = take(folder.config, "classifier_dropout"); rate.is_number()) {
    folder.classifier_dropout = rate.get<double>();
  }
  if (auto positions = folder.config.find("max_position_embeddings");
      positions != folder.config.end() && positions->is_number_unsigned()) {
    folder.max_length = positions->get<int64_t>();
  }
  if (folder.is_roberta()) folder.do_lower_case = false;  // its text stays as it is
  read_tokenizer_config(join_path(directory, kTokenizerConfig), folder);
  read_tokenizer(join_path(directory, kTokenizer), folder);
  if (std::string map = join_path(directory, kSpecialTokens); exists(map)) {
    Json tokens = read_json(map);
    refuse_other_tokenizers(JsonValue(tokens, map), folder.is_roberta());
  }
  std::string ours = join_path(directory, kOurs);
  folder.bertrain = exists(ours) ? read_json(ours) : Json();
  if (folder.bertrain.is_null()) add_default_labels(folder, directory);
  if (folder.problem_type == "regression" && folder.labels.size() > 1) {
    throw error(
        "{}: problem_type is \"regression\", which has one output here, and there are {} labels",
        config, folder.labels.size());
  }
  return folder;
}

bool is_model_folder(std::string_view directory) { return exists(join_path(directory, kConfig)); }

}  // namespace bertrain
