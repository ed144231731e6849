// The convert command: reads any format, checks it against the model's shape, writes another.
#include "cli/convert_command.h"

#include <malloc.h>

#include <algorithm>
#include <optional>
#include <ostream>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "checkpoint/tf2_writer.h"
#include "cli/conversion.h"
#include "cli/model_source.h"
#include "cli/options.h"
#include "model/names.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr const char* kFormats[] = {"tf1", "tf2", "tf2-encoder", "hf", "safetensors"};

struct ConvertFlags {
  std::string from, to, format;
  ModelOptions model;
  bool trim_vocab = false, overwrite = false;

  EachOption each() {
    return [this](OptionVisitor& v) {
      v("from", from, "a checkpoint or model folder in any format that is read");
      v("to", to, "a folder of transformers, or a prefix: one that ends in .ckpt is TF 1's");
      v("format", format,
        "tf1, tf2 (with heads and slots), tf2-encoder, hf or safetensors (one file, our names); "
        "empty: by the name of --to");
      v("bert_config_file", model.bert_config_file,
        "shape of the model, where the source has none");
      model.text.each(v);
      v("trim_vocab", trim_vocab,
        "leave out rows of the table that the vocabulary has no line for");
      v("overwrite", overwrite, "replace what is there");
    };
  }
};

bool exists(const std::string& path) { return storage_for(path).size(path).has_value(); }

std::string format_of(const ConvertFlags& o) {
  if (o.from.empty()) throw usage_error("--from is needed: a checkpoint or a model folder");
  if (o.to.empty()) throw usage_error("--to is needed: where the checkpoint goes");
  if (o.format.empty()) {
    if (o.to.ends_with(".ckpt")) return "tf1";
    return o.to.ends_with(".safetensors") ? "safetensors" : "hf";
  }
  bool known = std::find(std::begin(kFormats), std::end(kFormats), o.format) != std::end(kFormats);
  if (!known) {
    throw usage_error("--format={}: tf1, tf2, tf2-encoder, hf or safetensors expected", o.format);
  }
  return o.format;
}

// What would be replaced by the checkpoint.
std::string main_file(const std::string& to, const std::string& format) {
  if (format == "hf") return join_path(to, "model.safetensors");
  return format == "safetensors" ? to : to + ".index";
}

std::string folder_of(const std::string& prefix) {
  size_t slash = prefix.rfind('/');
  return slash == std::string::npos ? "." : prefix.substr(0, slash);
}

// Beside a prefix of TensorFlow lie bert_config.json and vocab.txt, as Google released them. One that
// is there already must say the same.
void write_beside(const std::string& file, const std::string& text, bool overwrite) {
  if (exists(file) && !overwrite) {
    if (read_text(file) == text) return;
    throw error("{} is there and says something else: use another folder, or --overwrite", file);
  }
  write_text(file, text);
}

std::string vocabulary_lines(const Tokenizer& tokenizer) {
  std::string text;
  for (const std::string& token : tokenizer.vocabulary().tokens()) text += token + "\n";
  return text;
}

// The folder's own description where the source is one; else what the heads tell.
ModelFolder folder_for(const ConvertFlags& o, const BertConfig& config, const Tokenizer& tokenizer,
                       const CheckpointReader& tensors) {
  std::optional<std::string> source = find_model_folder(o.from);
  ModelFolder folder = source ? read_model_folder(*source) : ModelFolder{};
  folder.config = config_to_hugging_face(config);
  const auto has = [&](std::string_view name) { return tensors.tensors().contains(name); };
  if (has("cls/predictions/output_bias")) {
    folder.architecture =
        has("cls/seq_relationship/output_weights") ? "BertForPreTraining" : "BertForMaskedLM";
  } else if (has("cls/squad/output_weights")) {
    folder.architecture = "BertForQuestionAnswering";
  } else if (has("output_weights")) {
    folder.architecture = "BertForSequenceClassification";
    auto classes = static_cast<size_t>(tensors.tensors().at("output_weights").shape[0]);
    if (folder.labels.size() != classes) folder.labels.clear();
    for (size_t i = folder.labels.size(); i < classes; ++i) {
      folder.labels.push_back(fmt::format("LABEL_{}", i));
    }
  } else {
    folder.architecture = "BertModel";
  }
  folder.vocabulary = tokenizer.vocabulary().tokens();
  folder.do_lower_case = tokenizer.options().do_lower_case;
  folder.strip_accents = tokenizer.options().strip_accents;
  folder.max_chars_per_word = tokenizer.options().max_chars_per_word;
  folder.special_tokens_in_text = tokenizer.options().special_tokens_in_text;
  folder.max_length = config.max_position_embeddings;
  return folder;
}

void write_folder(const ConvertFlags& o, const BertConfig& config, const Tokenizer& tokenizer,
                  const CheckpointReader& tensors) {
  Named<Array> weights;
  for (const auto& [name, type] : tensors.tensors()) weights.emplace(name, tensors.read(name));
  write_model_folder(o.to, folder_for(o, config, tokenizer, tensors), weights, to_hugging_face,
                     is_kernel);
}

void write_all(const std::string& to, CheckpointFormat format, const CheckpointReader& tensors) {
  auto writer = create_checkpoint(to, format, tensors.tensors());
  for (const auto& [name, type] : tensors.tensors()) writer->write(name, tensors.read(name));
  writer->commit();
}

void print_names(std::string_view what, const std::vector<std::string>& names, std::ostream& out) {
  out << what << " = " << names.size() << "\n";
  for (const std::string& name : names) out << "  " << name << "\n";
}

void run_convert(Args args, std::ostream& out) {
  ConvertFlags o;
  if (wants_help(args)) return print_help(kConvertCommand, o.each(), out);
  parse_only_options(args, o.each());
  std::string format = format_of(o);
  // A matrix that was turned goes back to the system when it is written; kept for the next, in pieces
  // that do not fit it, they were half of the file's size.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  o.model.init_checkpoint = o.from;
  o.model.read_init_checkpoint();
  parse_only_options(args, o.each());
  std::string file = main_file(o.to, format);
  if (exists(file) && !o.overwrite) {
    throw error("{} is there already: use another name, or --overwrite", file);
  }
  std::shared_ptr<const Tokenizer> tokenizer = o.model.tokenizer();
  BertConfig config = o.model.config("", *tokenizer);
  if (o.trim_vocab) config.vocab_size = static_cast<int64_t>(tokenizer->vocabulary().size());

  ConversionNames names;
  bool is_tf = format.starts_with("tf");
  ConversionWants wants{.heads = format != "tf2-encoder",
                        .training = format != "hf" && format != "tf2-encoder"};
  std::unique_ptr<CheckpointReader> tensors =
      conversion_of(open_weights(o.model.weights()), config, wants, o.trim_vocab, names);
  if (is_tf) {
    // Refused before the weights are written.
    write_beside(join_path(folder_of(o.to), "bert_config.json"),
                 config_to_google(config).dump(2) + "\n", o.overwrite);
    write_beside(join_path(folder_of(o.to), "vocab.txt"), vocabulary_lines(*tokenizer),
                 o.overwrite);
  }
  if (format == "hf") {
    write_folder(o, config, *tokenizer, *tensors);
  } else if (format == "safetensors") {
    write_all(o.to, CheckpointFormat::safetensors, *tensors);
  } else if (format == "tf1") {
    write_all(o.to, CheckpointFormat::tf_bundle, *tensors);
  } else {
    write_tf2_checkpoint(o.to, *tensors, config.num_attention_heads);
  }
  if (is_tf && config.hidden_act == Activation::gelu_erf) {
    log_warning(
        "the model's GELU is x Φ(x), which bert_config.json calls gelu_erf here; Google's programs "
        "know only the tanh form and refuse it, and with \"gelu\" in its place would be off by up "
        "to 1e-3");
  }
  print_names("used", names.used, out);
  print_names("unused", names.unused, out);
  print_names("missing", names.missing, out);
  out << "format = " << format << "\nwritten = " << o.to << "\n";
}

}  // namespace

const Command kConvertCommand = {
    "convert", "a checkpoint in another program's format",
    "bertrain convert --from=uncased_L-12_H-768_A-12 --to=bert-base\n"
    "bertrain convert --from=bert-base --to=google/bert_model.ckpt\n"
    "bertrain convert --from=bert-base --to=tf2/bert_model.ckpt-1 --format=tf2-encoder",
    run_convert};

}  // namespace bertrain
