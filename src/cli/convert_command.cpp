// The convert command: reads any format, checks it against the model's shape, writes another.
#include "cli/convert_command.h"

#include <malloc.h>

#include <ostream>

#include "base/error.h"
#include "cli/conversion.h"
#include "cli/converted_model.h"
#include "cli/model_source.h"
#include "cli/options.h"

namespace bertrain {
namespace {

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

void print_names(std::string_view what, const std::vector<std::string>& names, std::ostream& out) {
  out << what << " = " << names.size() << "\n";
  for (const std::string& name : names) out << "  " << name << "\n";
}

void run_convert(Args args, std::ostream& out) {
  ConvertFlags o;
  if (wants_help(args)) return print_help(kConvertCommand, o.each(), out);
  parse_only_options(args, o.each());
  if (o.from.empty()) throw usage_error("--from is needed: a checkpoint or a model folder");
  std::string format = converted_format(o.to, o.format);
  // A matrix that was turned goes back to the system when it is written; kept for the next, in pieces
  // that do not fit it, they were half of the file's size.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  o.model.init_checkpoint = o.from;
  o.model.read_init_checkpoint();
  parse_only_options(args, o.each());
  require_unused(o.to, format, o.overwrite);
  std::shared_ptr<const Tokenizer> tokenizer = o.model.tokenizer();
  BertConfig config = o.model.config("", *tokenizer);
  if (o.trim_vocab) config.vocab_size = static_cast<int64_t>(tokenizer->vocabulary().size());

  ConversionNames names;
  ConversionWants wants{.heads = format != "tf2-encoder",
                        .training = format != "hf" && format != "tf2-encoder"};
  std::unique_ptr<CheckpointReader> tensors =
      conversion_of(open_weights(o.model.weights()), config, wants, o.trim_vocab, names);
  write_converted({o.from, o.to, format, config, *tokenizer, *tensors, o.overwrite});
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
