// Finding configuration, vocabulary and weights that belong together.
#include "cli/model_source.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "checkpoint/renamed.h"
#include "checkpoint/tf2_objects.h"
#include "checkpoint/widened.h"
#include "cli/model_fit.h"
#include "cli/run_group.h"
#include "model/names.h"
#include "storage/storage.h"
#include "text/byte_bpe_files.h"

namespace bertrain {
namespace {

// The sizes that Google released [Turc et al. 2019; Devlin et al. 2019].
struct Size {
  std::string_view name;
  int64_t layers, hidden, heads;
};
constexpr Size kSizes[] = {{"tiny", 2, 128, 2},   {"mini", 4, 256, 4},   {"small", 4, 512, 8},
                           {"medium", 8, 512, 8}, {"base", 12, 768, 12}, {"large", 24, 1024, 16}};

constexpr uint64_t kMaxConfig = 16 << 20;  // some kilobytes, or all labels of a classifier

bool is_directory(const std::string& path) {
  std::error_code absent;
  return path.find("://") == path.npos && std::filesystem::is_directory(path, absent);
}

// What the code that the preset follows makes of a shape that leaves it open: transformers takes the
// name "gelu" for x Φ(x) in any file, Intel's code has an epsilon of its own. What a shape says is
// part of its model and stays.
void follow_preset(BertConfig& config, const std::string& preset, const Json& said,
                   const std::string& place) {
  auto act = said.find("hidden_act");
  if (preset == "hf" && (act == said.end() || *act == "gelu")) {
    config.hidden_act = Activation::gelu_erf;
    if (!place.empty())
      log_line("{}: gelu is x Φ(x), as transformers reads it (--preset=hf)", place);
  }
  if (preset == "intel" && !said.contains("layer_norm_eps")) {
    config.layer_norm_eps = 1e-3;
    if (!place.empty()) log_line("{}: layer_norm_eps is 0.001, as Intel's (--preset=intel)", place);
  }
}

BertConfig new_config(const std::string& name, const std::string& preset, size_t vocabulary) {
  for (const Size& size : kSizes) {
    if (size.name != name) continue;
    BertConfig config;
    config.vocab_size = static_cast<int64_t>(vocabulary);
    config.hidden_size = size.hidden;
    config.num_hidden_layers = size.layers;
    config.num_attention_heads = size.heads;
    config.intermediate_size = 4 * size.hidden;
    config.type_vocab_size = 2;
    follow_preset(config, preset, Json::object(), "");
    return config;
  }
  throw usage_error("--model={}: tiny, mini, small, medium, base or large expected", name);
}

BertConfig read_config(const std::string& file, const std::string& preset) {
  Json json = parse_json(read_text_up_to(file, kMaxConfig), file);
  // Hugging Face's file says what it is; Google's has no such key.
  if (json.is_object() && json.contains("model_type")) return config_from_hugging_face(json, file);
  BertConfig config = config_from_google(json, file);
  follow_preset(config, preset, json, file);
  return config;
}

}  // namespace

BertConfig model_shape(const std::string& model, const std::string& bert_config_file,
                       const std::string& preset, size_t vocab_size) {
  if (model.empty() == bert_config_file.empty()) {
    throw usage_error(
        "the model's shape is needed: either --model=base (or tiny, mini, small, "
        "medium, large) or --bert_config_file");
  }
  return model.empty() ? read_config(bert_config_file, preset)
                       : new_config(model, preset, vocab_size);
}

std::optional<std::string> find_model_folder(const std::string& given) {
  std::string path = without_slashes(given);
  if (is_model_folder(path)) return path;
  std::string inside = join_path(path, "model");
  if (is_model_folder(inside)) return inside;
  if (exists(join_path(path, "run.json"))) {
    throw error("{} is a run without a finished model; let it end first", path);
  }
  std::vector<std::string> runs = runs_below(path);
  if (!runs.empty()) {
    throw error("{} holds several runs: name the folder of one, as {}", path,
                join_path(path, runs.front()));
  }
  return std::nullopt;
}

BertConfig config_of(const ModelFolder& folder, const std::string& path) {
  return config_from_hugging_face(folder.config, join_path(path, "config.json"));
}

std::string architecture_of(const BertConfig& config, std::string_view end) {
  return fmt::format("{}{}", config.family == Family::roberta ? "Roberta" : "Bert", end);
}

void put_tokenizer(const Tokenizer& tokenizer, const BertConfig& config, ModelFolder& folder) {
  folder.max_length = config.positions();
  folder.special_tokens_in_text = tokenizer.options().special_tokens_in_text;
  if (tokenizer.byte_bpe()) {
    const Vocabulary& vocabulary = tokenizer.vocabulary();
    folder.config["bos_token_id"] = vocabulary.id(tokenizer.special().classify);
    folder.config["eos_token_id"] = vocabulary.id(tokenizer.special().separate);
    folder.tokenizer = byte_bpe_files(tokenizer, folder.max_length);
    return;
  }
  folder.vocabulary = tokenizer.vocabulary().tokens();
  folder.do_lower_case = tokenizer.options().do_lower_case;
  folder.strip_accents = tokenizer.options().strip_accents;
  folder.max_chars_per_word = tokenizer.options().max_chars_per_word;
}

std::string vocabulary_file(const std::string& path) {
  std::string file = join_path(path, "vocab.txt"), newer = join_path(path, "tokenizer.json");
  return !exists(file) && exists(newer) ? newer : file;
}

namespace {

bool has_vocabulary(const ModelFolder& folder, const std::string& path) {
  if (!folder.is_roberta()) return exists(vocabulary_file(path));
  return exists(join_path(path, "tokenizer.json")) || exists(join_path(path, "vocab.json"));
}

}  // namespace

std::shared_ptr<const Tokenizer> tokenizer_of(const ModelFolder& folder, const std::string& path) {
  TokenizerOptions options = {.do_lower_case = folder.do_lower_case,
                              .strip_accents = folder.strip_accents,
                              .max_chars_per_word = folder.max_chars_per_word,
                              .special_tokens_in_text = folder.special_tokens_in_text};
  if (folder.is_roberta()) {
    return std::make_shared<const Tokenizer>(read_byte_bpe(path), options);
  }
  std::string file = vocabulary_file(path);
  if (file.ends_with(".json")) {
    auto vocabulary = Vocabulary::read_tokenizer(file, {kUnknown, kClassify, kSeparate});
    if (!vocabulary) throw error("{}: its model is not WordPiece, which a BERT's is", file);
    return std::make_shared<const Tokenizer>(*std::move(vocabulary), options);
  }
  if (!exists(file)) {
    throw error("{}: {}; a model folder needs the vocabulary of its model, one piece a line", file,
                is_directory(file) ? "a directory, and no file" : "not there");
  }
  refuse_pipe(file);
  Vocabulary vocabulary = Vocabulary::read(file, {kUnknown, kClassify, kSeparate});
  if (std::string newer = join_path(path, "tokenizer.json"); exists(newer)) {
    vocabulary = longer_vocabulary(std::move(vocabulary), newer);
  }
  return std::make_shared<const Tokenizer>(std::move(vocabulary), options);
}

Json task_of(const ModelFolder& folder, const std::string& path) {
  if (!folder.bertrain.is_null()) {
    JsonValue ours(folder.bertrain, task_file(path));
    if (std::optional<JsonValue> task = ours.find("task"); task && !task->is_null()) {
      task->at("task").text();
      if (auto labels = task->find("labels"); labels && !folder.labels.empty()) {
        std::vector<std::string> names = labels->texts();
        if (names != folder.labels) {
          auto at = std::ranges::mismatch(names, folder.labels).in1 - names.begin();
          throw error(
              "{}: task.labels are not those of id2label in {}: {} and {}, which differ from "
              "number {} on",
              task_file(path), join_path(path, "config.json"), names.size(), folder.labels.size(),
              at);
        }
      }
      return task->json();
    }
  }
  std::string_view model = folder.architecture;
  for (std::string_view start : {"Bert", "Roberta"}) {
    if (model.starts_with(start)) model.remove_prefix(start.size());
  }
  if (model == "ForSequenceClassification" && !folder.labels.empty()) {
    std::set<std::string> names;
    for (const std::string& label : folder.labels) {
      if (!names.insert(label).second) {
        throw error("{}: id2label names two classes {}; each must have a name of its own",
                    join_path(path, "config.json"), quote(label));
      }
    }
    bool several = folder.problem_type == "multi_label_classification";
    if (folder.labels.size() == 1 && !several) return {{"task", "regression"}};
    return {{"task", several ? "multilabel" : "classification"}, {"labels", folder.labels}};
  }
  if (model == "ForMultipleChoice") return {{"task", "multiple_choice"}};
  if (model == "ForQuestionAnswering") return {{"task", "squad"}};
  if (model == "ForPreTraining") return {{"task", "pretraining"}};
  if (model == "ForMaskedLM") return {{"task", "pretraining"}, {"next_sentence", false}};
  return nullptr;
}

std::string task_file(const std::string& path) { return join_path(path, "bertrain.json"); }

std::unique_ptr<CheckpointReader> open_weights(const std::string& uri, bool masked_lm) {
  std::unique_ptr<CheckpointReader> reader = open_checkpoint(uri);
  if (reader->object_graph()) return widen_floats(name_objects(std::move(reader)));
  std::vector<std::string> names;
  for (const auto& [name, type] : reader->tensors()) names.push_back(name);
  if (auto wrapped = std::ranges::count_if(
          names, [](const std::string& name) { return name.starts_with("module."); })) {
    log_line("{}: the names of {} tensors start with 'module.', which is left out", uri, wrapped);
  }
  reader = widen_floats(std::move(reader));
  if (!are_hugging_face(names)) return reader;
  if (masked_lm) {
    require_tied(*reader);
  } else {
    for (const UntiedLayer& layer : untied_layers(*reader)) {
      log_line("{}: '{}', an output layer of its own for masked words, is not used", uri,
               layer.name);
    }
  }
  return rename_tensors(std::move(reader), from_hugging_face, is_kernel);
}

void ModelOptions::each(OptionVisitor& v) {
  v("init_checkpoint", init_checkpoint,
    "model to start from: a model folder, a run, or a TF checkpoint");
  v("bert_config_file", bert_config_file, "shape of the model, as bert_config.json");
  v("model", model, "shape of a new model: tiny, mini, small, medium, base or large");
  text.each(v);
}

std::optional<double> ModelOptions::classifier_dropout() const {
  return folder_ ? folder_->classifier_dropout : std::nullopt;
}

void ModelOptions::read_init_checkpoint() {
  if (init_checkpoint.empty()) return;
  std::string path = without_slashes(init_checkpoint);
  if (std::optional<std::string> found = find_model_folder(path)) {
    folder_path_ = *found;
    folder_ = read_model_folder(*found);
    weights_ = *found;
    text.do_lower_case = folder_->do_lower_case;
    text.strip_accents = folder_->strip_accents;
    text.max_input_chars_per_word = folder_->max_chars_per_word;
    text.special_tokens_in_text = folder_->special_tokens_in_text;
    return;
  }
  weights_ = path;
  // Google's archives hold bert_config.json and vocab.txt beside bert_model.ckpt.
  std::string uri = open_checkpoint(path)->uri();
  folder_path_ = folder_part(uri);
  std::string vocabulary = folder_path_ + "vocab.txt";
  if (!exists(vocabulary)) return;
  refuse_pipe(vocabulary);
  text.vocab_file = own_vocabulary_ = vocabulary;
}

bool ModelOptions::has_other_head(const Json& task) const {
  Json mine = folder_ ? task_of(*folder_, folder_path_) : Json();
  if (mine.is_null()) return false;
  JsonValue described(mine, task_file(folder_path_), "task");
  if (auto labels = described.find("labels")) labels->texts();  // what is no list is said
  std::string kind = described.at("task").text();
  if (kind == "pretraining") return false;
  // Its head has one output, whatever the number of choices.
  if (kind == "multiple_choice") return kind != task["task"];
  return kind != task["task"] || mine.value("labels", Json()) != task.value("labels", Json());
}

std::shared_ptr<const Tokenizer> ModelOptions::tokenizer(bool part_of_vocabulary) const {
  bool said = folder_ && folder_->says_casing;
  if (said && !folder_->is_roberta() && text.do_lower_case != folder_->do_lower_case) {
    throw usage_error(
        "--do_lower_case={}: {} says {}, as its model was trained; where that is wrong, correct it "
        "there",
        text.do_lower_case, join_path(folder_path_, "tokenizer_config.json"),
        folder_->do_lower_case);
  }
  std::shared_ptr<const Tokenizer> made = make_tokenizer();
  if (!init_checkpoint.empty()) require_casing(*made, said);
  if (!text.vocab_file.empty()) {
    if (folder_ && has_vocabulary(*folder_, folder_path_)) {
      require_same_pieces(*made, *tokenizer_of(*folder_, folder_path_), part_of_vocabulary);
    } else if (!own_vocabulary_.empty() && !same_object(text.vocab_file, own_vocabulary_)) {
      require_same_pieces(*made, Tokenizer(Vocabulary::read(own_vocabulary_, {}), {}),
                          part_of_vocabulary);
    }
  }
  return made;
}

std::shared_ptr<const Tokenizer> ModelOptions::make_tokenizer() const {
  if (folder_ && text.vocab_file.empty()) {
    ModelFolder folder = *folder_;
    folder.do_lower_case = text.do_lower_case;
    folder.strip_accents = text.strip_accents;
    folder.max_chars_per_word = text.max_input_chars_per_word;
    folder.special_tokens_in_text = text.special_tokens_in_text;
    if (folder.is_roberta() && (text.do_lower_case || text.strip_accents.value_or(false))) {
      throw usage_error(
          "{} is a RoBERTa: its pieces are of text as it is, neither lower-cased nor "
          "stripped of accents",
          folder_path_);
    }
    return tokenizer_of(folder, folder_path_);
  }
  return std::make_shared<const Tokenizer>(text.tokenizer({kUnknown, kClassify, kSeparate}));
}

std::vector<std::string> ModelOptions::files() const {
  return {weights_, bert_config_file, text.vocab_file};
}

BertConfig ModelOptions::config(const std::string& preset, const Tokenizer& tokenizer) const {
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  auto of_its_kind = [&](const BertConfig& shape, const std::string& place) {
    bool roberta = shape.family == Family::roberta;
    if (roberta != (tokenizer.byte_bpe() != nullptr)) {
      throw usage_error("{} is a {}, and {} a vocabulary of a {}", place,
                        roberta ? "RoBERTa" : "BERT", vocabulary.name(),
                        roberta ? "BERT" : "RoBERTa");
    }
    return shape;
  };
  if (!model.empty()) {
    if (!bert_config_file.empty() || !init_checkpoint.empty()) {
      throw usage_error(
          "--model={} is the shape of a new model; it stands beside neither "
          "--init_checkpoint nor --bert_config_file",
          model);
    }
    return of_its_kind(new_config(model, preset, vocabulary.size()), "--model=" + model);
  }
  BertConfig config;
  std::string place = bert_config_file;
  if (!bert_config_file.empty()) {
    config = read_config(bert_config_file, preset);
  } else if (folder_) {
    place = folder_path_;
    config = config_of(*folder_, folder_path_);
  } else if (!init_checkpoint.empty()) {
    place = folder_path_ + "bert_config.json";
    if (!exists(place)) {
      throw usage_error("{} is not there: --bert_config_file names the shape of the checkpoint",
                        place);
    }
    refuse_pipe(place);
    config = read_config(place, preset);
  } else {
    throw usage_error(
        "the model's shape is needed: --model=tiny (or mini, small, medium, base, "
        "large), --bert_config_file, or --init_checkpoint");
  }
  vocabulary.check_fits(config.vocab_size, place);
  require_padding(tokenizer, config, place);
  if (!weights_.empty()) require_heads(weights_, config, place);
  if (!bert_config_file.empty()) {
    std::string beside = folder_path_ + "bert_config.json";
    if (folder_) {
      require_same_shape(config, place, config_of(*folder_, folder_path_), folder_path_);
    } else if (!weights_.empty() && exists(beside) && !same_object(beside, place)) {
      refuse_pipe(beside);
      require_same_shape(config, place, read_config(beside, preset), beside);
    }
  }
  return of_its_kind(config, place);
}

}  // namespace bertrain
