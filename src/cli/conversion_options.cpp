// Opens the model that is converted or extended.
#include "cli/conversion_options.h"

#include "base/error.h"
#include "cli/converted_model.h"

namespace bertrain {

void ConversionOptions::each(OptionVisitor& v) {
  v("from", from, "a checkpoint or model folder in any format that is read");
  v("to", to, "a folder of transformers, or a prefix: one that ends in .ckpt is TF 1's");
  v("format", format,
    "tf1, tf2 (with heads and slots), tf2-encoder, hf or safetensors (one file, our names); "
    "empty: by the name of --to");
  v("bert_config_file", model.bert_config_file, "shape of the model, where the source has none");
  model.text.each(v);
  v("overwrite", overwrite, "replace what is there");
}

ConversionOptions::Source ConversionOptions::read(std::span<const std::string_view> args,
                                                  const EachOption& each) {
  parse_only_options(args, each);
  if (from.empty()) throw usage_error("--from is needed: a checkpoint or a model folder");
  model.init_checkpoint = from;
  model.read_init_checkpoint();
  parse_only_options(args, each);
  format = converted_format(to, format);
  require_unused(to, format, overwrite);
  std::shared_ptr<const Tokenizer> tokenizer = model.tokenizer(trim_vocab);
  BertConfig config = model.config("", *tokenizer);
  return {std::move(tokenizer), config};
}

}  // namespace bertrain
