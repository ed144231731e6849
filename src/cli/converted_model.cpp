// Writes models in the formats that other programs read.
#include "cli/converted_model.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/tf2_writer.h"
#include "checkpoint/tokenizer_files.h"
#include "cli/model_source.h"
#include "model/names.h"
#include "storage/file_group.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr const char* kFormats[] = {"tf1", "tf2", "tf2-encoder", "hf", "safetensors"};

// Any of these makes a folder somebody's model.
constexpr const char* kFolderFiles[] = {"model.safetensors", "model.safetensors.index.json",
                                        "pytorch_model.bin", "pytorch_model.bin.index.json",
                                        "config.json"};

constexpr const char* kTokenizerFiles[] = {"vocab.txt",
                                           "vocab.json",
                                           "merges.txt",
                                           "tokenizer.json",
                                           "tokenizer_config.json",
                                           "special_tokens_map.json",
                                           "bertrain.json"};

// What would be replaced by the checkpoint.
std::vector<std::string> main_files(const std::string& to, const std::string& format) {
  if (format == "safetensors") return {to};
  if (format != "hf") return {to + ".index", to + ".data-00000-of-00001"};
  std::vector<std::string> files;
  for (const char* name : kFolderFiles) files.push_back(join_path(to, name));
  for (const char* name : kTokenizerFiles) files.push_back(join_path(to, name));
  return files;
}

// Of the model that a folder holds: its weights in other files than ours, and a tokenizer of the other
// family, which both would be taken for this model's.
std::vector<std::string> other_files(const std::string& to, const Tokenizer& tokenizer) {
  std::vector<std::string> files;
  for (const char* name : kFolderFiles) {
    std::string file = join_path(to, name);
    if (!exists(file) || std::string_view(name) == "config.json") continue;
    try {
      for (std::string& part : files_of_checkpoint(file)) files.push_back(std::move(part));
    } catch (const Error&) {
      files.push_back(file);  // an index of files that are not there
    }
  }
  if (tokenizer.byte_bpe()) {
    files.push_back(join_path(to, "vocab.txt"));
  } else {
    for (const char* name : {"vocab.json", "merges.txt"}) files.push_back(join_path(to, name));
  }
  return files;
}

constexpr const char* kCompanions[] = {"bert_config.json", "vocab.txt"};

// Beside a prefix of TensorFlow lie bert_config.json and vocab.txt, as Google released them. One that
// is there already must say the same.
class Companions {
 public:
  explicit Companions(const ConvertedModel& model) {
    std::string_view place = folder_part(model.to);
    files_ = {
        {join_path(place, kCompanions[0]), config_to_google(model.config).dump(2) + "\n"},
        {join_path(place, kCompanions[1]), vocabulary_text(model.tokenizer.vocabulary().tokens())}};
  }
  void require_same() const {
    for (const auto& [file, text] : files_) {
      if (!exists(file)) continue;
      refuse_pipe(file);
      if (read_text(file) == text) continue;
      throw error("{} is there and says something else: use another folder, or --overwrite", file);
    }
  }
  void stage() {
    for (const auto& [file, text] : files_) group_.add(file, text);
  }
  void commit() { group_.commit(); }

 private:
  std::vector<std::pair<std::string, std::string>> files_;
  FileGroup group_;
};

// Whether the weights have the head that an architecture of transformers is called by.
bool has_head(std::string_view architecture, const Named<ArrayType>& tensors) {
  auto is = [&](std::string_view end) { return architecture.ends_with(end); };
  auto has = [&](std::string_view name) { return tensors.contains(name); };
  if (is("ForPreTraining")) {
    return has("cls/predictions/output_bias") && has("cls/seq_relationship/output_weights");
  }
  if (is("ForMaskedLM")) return has("cls/predictions/output_bias");
  if (is("ForNextSentencePrediction")) return has("cls/seq_relationship/output_weights");
  if (is("ForQuestionAnswering")) return has("cls/squad/output_weights");
  if (is("ForSequenceClassification") || is("ForTokenClassification") || is("ForMultipleChoice")) {
    return has("output_weights");
  }
  return false;
}

// By the heads that there are, where the source has no folder that says it.
std::string architecture_by_heads(const BertConfig& config, const Named<ArrayType>& tensors) {
  for (const char* end : {"ForPreTraining", "ForMaskedLM", "ForQuestionAnswering",
                          "ForSequenceClassification", "ForNextSentencePrediction"}) {
    if (has_head(end, tensors)) return architecture_of(config, end);
  }
  return architecture_of(config, "Model");
}

// The folder's own description where the source is one; else what the heads tell.
ModelFolder folder_of(const ConvertedModel& model) {
  const CheckpointReader& tensors = model.tensors;
  std::optional<std::string> source = find_model_folder(model.from);
  ModelFolder folder = source ? read_model_folder(*source) : ModelFolder{};
  folder.config = config_to_hugging_face(model.config);
  if (!has_head(folder.architecture, tensors.tensors())) {
    folder.architecture = architecture_by_heads(model.config, tensors.tensors());
  }
  if (folder.architecture.ends_with("Classification")) {
    auto classes = static_cast<size_t>(tensors.tensors().at("output_weights").shape[0]);
    if (!folder.labels.empty() && folder.labels.size() != classes) {
      throw error("{}: its configuration names {} classes, its weights (output_weights) have {}",
                  model.from, folder.labels.size(), classes);
    }
    if (folder.labels.empty()) {
      log_warning(
          "{} names no classes and no task: its head is written as a classifier with one of {} "
          "classes a row, LABEL_0 and so on",
          model.from, classes);
    }
    for (size_t i = folder.labels.size(); i < classes; ++i) {
      folder.labels.push_back(fmt::format("LABEL_{}", i));
    }
  }
  put_tokenizer(model.tokenizer, model.config, folder);
  return folder;
}

void write_folder(const ConvertedModel& model) {
  ModelFolder folder = folder_of(model);
  bool of_tokens = folder.architecture.ends_with("ForTokenClassification");
  write_model_folder(model.to, folder, model.tensors,
                     to_hugging_face_of(model.config.family, of_tokens), is_kernel,
                     other_files(model.to, model.tokenizer));
}

void write_all(const ConvertedModel& model, CheckpointFormat format,
               const std::function<void()>& before_commit) {
  const CheckpointReader& tensors = model.tensors;
  auto writer = create_checkpoint(model.to, format, tensors.tensors());
  for (const auto& [name, type] : tensors.tensors()) writer->write(name, tensors.read(name));
  writer->settle();
  before_commit();
  writer->commit();
}

// What a folder says of its model, and the target has no file for.
void warn_of_loss(const ConvertedModel& model) {
  std::optional<std::string> source = find_model_folder(model.from);
  if (!source) return;
  ModelFolder folder = read_model_folder(*source);
  std::vector<std::string> lost;
  Json task = task_of(folder, *source);
  if (!task.is_null() && task["task"] != "pretraining") {
    lost.push_back(fmt::format("its task ({})", task["task"].get<std::string>()));
    if (task.contains("labels")) lost.push_back("the names of its classes");
  }
  // Without one a classifier has the encoder's.
  double dropout = folder.classifier_dropout.value_or(model.config.hidden_dropout_prob);
  if (dropout != model.config.hidden_dropout_prob) {
    lost.push_back(fmt::format("classifier_dropout = {}", dropout));
  }
  const TokenizerOptions &is = model.tokenizer.options(), usual;
  auto differs = [&](const char* name, auto found, auto wanted) {
    if (found != wanted) lost.push_back(fmt::format("{} = {}", name, found));
  };
  differs("do_lower_case", is.do_lower_case, usual.do_lower_case);
  if (is.strip_accents) differs("strip_accents", *is.strip_accents, is.do_lower_case);
  differs("max_input_chars_per_word", is.max_chars_per_word, usual.max_chars_per_word);
  differs("special_tokens_in_text", is.special_tokens_in_text, usual.special_tokens_in_text);
  if (lost.empty()) return;
  log_warning("{}: this format has no place for {}; a folder (--format=hf) keeps them", model.to,
              fmt::join(lost, ", "));
}

}  // namespace

std::string converted_format(const std::string& to, const std::string& format) {
  if (to.empty()) throw usage_error("--to is needed: where the checkpoint goes");
  if (format.empty()) {
    if (to.ends_with(".ckpt")) return "tf1";
    return to.ends_with(".safetensors") ? "safetensors" : "hf";
  }
  if (format.starts_with("tf") && to.ends_with('/')) {
    throw usage_error("--to={}: a TensorFlow checkpoint is a prefix of names, as {}bert_model.ckpt",
                      to, to);
  }
  if (std::find(std::begin(kFormats), std::end(kFormats), format) == std::end(kFormats)) {
    throw usage_error("--format={}: tf1, tf2, tf2-encoder, hf or safetensors expected", format);
  }
  return format;
}

void require_unused(const std::string& to, const std::string& format, bool overwrite) {
  if (format == "hf" && exists(join_path(to, "run.json"))) {
    throw error("{} is a run, whose model is in {}: use a folder of its own", to,
                join_path(to, "model"));
  }
  for (const std::string& file : main_files(to, format)) {
    if (exists(file) && !overwrite) {
      throw error("{} is there already: use another name, or --overwrite", file);
    }
  }
}

void require_kept(const std::string& words_file, const std::string& to, const std::string& format) {
  std::vector<std::string> files = main_files(to, format);
  if (format.starts_with("tf")) {
    for (const char* name : kCompanions) files.push_back(join_path(folder_part(to), name));
  }
  for (const std::string& file : files) {
    if (!same_object(words_file, file)) continue;
    throw usage_error(
        "--words_file={}: --to={} has its own file of that name; give the words another name, or "
        "--to another folder",
        words_file, to);
  }
}

void write_converted(const ConvertedModel& model) {
  bool is_tf = model.format.starts_with("tf");
  if (is_tf && model.config.family == Family::roberta) {
    throw usage_error(
        "--to={}: Google's formats have no RoBERTa; --format=hf or safetensors expected", model.to);
  }
  // Checked before the weights, which take long; on the device before the weights get their name.
  std::optional<Companions> beside;
  if (is_tf) beside.emplace(model);
  if (beside && !model.overwrite) beside->require_same();
  if (beside) beside->stage();
  auto before_weights = [&] {
    if (!beside) return;
    // New companions must not be taken for an older checkpoint's.
    storage_for(model.to).remove(model.to + ".index");
    beside->commit();
  };
  if (model.format != "hf") warn_of_loss(model);
  if (model.format == "hf") {
    write_folder(model);
  } else if (model.format == "safetensors") {
    write_all(model, CheckpointFormat::safetensors, before_weights);
  } else if (model.format == "tf1") {
    write_all(model, CheckpointFormat::tf_bundle, before_weights);
  } else {
    write_tf2_checkpoint(model.to, model.tensors, model.config.num_attention_heads, before_weights);
  }
  double epsilon = model.config.layer_norm_eps, usual = BertConfig{}.layer_norm_eps;
  if (is_tf && epsilon != usual) {
    log_warning(
        "the model's layer_norm_eps is {}, for which bert_config.json has a key that is read here; "
        "Google's programs know none, and compute with {} whatever it says",
        epsilon, usual);
  }
  if (is_tf && model.config.hidden_act == Activation::gelu_erf) {
    log_warning(
        "the model's GELU is x Φ(x), which bert_config.json calls gelu_erf here; Google's programs "
        "know only the tanh form and refuse it, and with \"gelu\" in its place would be off by up "
        "to 1e-3");
  }
}

}  // namespace bertrain
