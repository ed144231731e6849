// Writes models in the formats that other programs read.
#include "cli/converted_model.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/tf2_writer.h"
#include "checkpoint/tokenizer_files.h"
#include "cli/model_source.h"
#include "model/names.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr const char* kFormats[] = {"tf1", "tf2", "tf2-encoder", "hf", "safetensors"};

bool exists(const std::string& path) { return storage_for(path).size(path).has_value(); }

// What would be replaced by the checkpoint.
std::string main_file(const std::string& to, const std::string& format) {
  if (format == "hf") return join_path(to, "model.safetensors");
  return format == "safetensors" ? to : to + ".index";
}

std::string place_of(const std::string& prefix) {
  size_t slash = prefix.rfind('/');
  return slash == std::string::npos ? "." : prefix.substr(0, slash);
}

// Beside a prefix of TensorFlow lie bert_config.json and vocab.txt, as Google released them. One that
// is there already must say the same.
class Companions {
 public:
  explicit Companions(const ConvertedModel& model) {
    std::string place = place_of(model.to);
    files_ = {
        {join_path(place, "bert_config.json"), config_to_google(model.config).dump(2) + "\n"},
        {join_path(place, "vocab.txt"), vocabulary_text(model.tokenizer.vocabulary().tokens())}};
  }
  void require_same() const {
    for (const auto& [file, text] : files_) {
      if (!exists(file) || read_text(file) == text) continue;
      throw error("{} is there and says something else: use another folder, or --overwrite", file);
    }
  }
  void write() const {
    for (const auto& [file, text] : files_) write_text(file, text);
  }

 private:
  std::vector<std::pair<std::string, std::string>> files_;
};

// The folder's own description where the source is one; else what the heads tell.
ModelFolder folder_of(const ConvertedModel& model) {
  const CheckpointReader& tensors = model.tensors;
  std::optional<std::string> source = find_model_folder(model.from);
  ModelFolder folder = source ? read_model_folder(*source) : ModelFolder{};
  folder.config = config_to_hugging_face(model.config);
  const auto has = [&](std::string_view name) { return tensors.tensors().contains(name); };
  if (has("cls/predictions/output_bias")) {
    folder.architecture =
        architecture_of(model.config, has("cls/seq_relationship/output_weights") ? "ForPreTraining"
                                                                                 : "ForMaskedLM");
  } else if (has("cls/squad/output_weights")) {
    folder.architecture = architecture_of(model.config, "ForQuestionAnswering");
  } else if (has("output_weights")) {
    folder.architecture = architecture_of(model.config, "ForSequenceClassification");
    auto classes = static_cast<size_t>(tensors.tensors().at("output_weights").shape[0]);
    if (!folder.labels.empty() && folder.labels.size() != classes) {
      throw error("{}: its configuration names {} classes, its weights (output_weights) have {}",
                  model.from, folder.labels.size(), classes);
    }
    for (size_t i = folder.labels.size(); i < classes; ++i) {
      folder.labels.push_back(fmt::format("LABEL_{}", i));
    }
  } else {
    folder.architecture = architecture_of(model.config, "Model");
  }
  put_tokenizer(model.tokenizer, model.config, folder);
  return folder;
}

void write_folder(const ConvertedModel& model) {
  write_model_folder(model.to, folder_of(model), model.tensors,
                     to_hugging_face_of(model.config.family), is_kernel);
}

void write_all(const std::string& to, CheckpointFormat format, const CheckpointReader& tensors) {
  auto writer = create_checkpoint(to, format, tensors.tensors());
  for (const auto& [name, type] : tensors.tensors()) writer->write(name, tensors.read(name));
  writer->commit();
}

}  // namespace

std::string converted_format(const std::string& to, const std::string& format) {
  if (to.empty()) throw usage_error("--to is needed: where the checkpoint goes");
  if (format.empty()) {
    if (to.ends_with(".ckpt")) return "tf1";
    return to.ends_with(".safetensors") ? "safetensors" : "hf";
  }
  if (std::find(std::begin(kFormats), std::end(kFormats), format) == std::end(kFormats)) {
    throw usage_error("--format={}: tf1, tf2, tf2-encoder, hf or safetensors expected", format);
  }
  return format;
}

void require_unused(const std::string& to, const std::string& format, bool overwrite) {
  std::string file = main_file(to, format);
  if (exists(file) && !overwrite) {
    throw error("{} is there already: use another name, or --overwrite", file);
  }
}

void write_converted(const ConvertedModel& model) {
  bool is_tf = model.format.starts_with("tf");
  if (is_tf && model.config.family == Family::roberta) {
    throw usage_error(
        "--to={}: Google's formats have no RoBERTa; --format=hf or safetensors expected", model.to);
  }
  // Checked before the weights, which take long, and written after them, which may be refused.
  std::optional<Companions> beside;
  if (is_tf) beside.emplace(model);
  if (beside && !model.overwrite) beside->require_same();
  if (model.format == "hf") {
    write_folder(model);
  } else if (model.format == "safetensors") {
    write_all(model.to, CheckpointFormat::safetensors, model.tensors);
  } else if (model.format == "tf1") {
    write_all(model.to, CheckpointFormat::tf_bundle, model.tensors);
  } else {
    write_tf2_checkpoint(model.to, model.tensors, model.config.num_attention_heads);
  }
  if (beside) beside->write();
  if (is_tf && model.config.hidden_act == Activation::gelu_erf) {
    log_warning(
        "the model's GELU is x Φ(x), which bert_config.json calls gelu_erf here; Google's programs "
        "know only the tanh form and refuse it, and with \"gelu\" in its place would be off by up "
        "to 1e-3");
  }
}

}  // namespace bertrain
