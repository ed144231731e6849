// The convert command: reads any format, checks it against the model's shape, writes another.
#include "cli/convert_command.h"

#include <malloc.h>

#include <ostream>

#include "base/error.h"
#include "cli/conversion.h"
#include "cli/conversion_options.h"
#include "cli/converted_model.h"
#include "cli/model_fit.h"
#include "cli/model_source.h"
#include "cli/options.h"

namespace bertrain {
namespace {

struct ConvertFlags {
  ConversionOptions conversion;

  EachOption each() {
    return [this](OptionVisitor& v) {
      conversion.each(v);
      v("trim_vocab", conversion.trim_vocab,
        "leave out rows of the table that the vocabulary has no line for");
    };
  }
};

void run_convert(Args args, std::ostream& out) {
  ConvertFlags flags;
  if (wants_help(args)) return print_help(kConvertCommand, flags.each(), out);
  // A matrix that was turned goes back to the system when it is written; kept for the next, in pieces
  // that do not fit it, they were half of the file's size.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  auto [tokenizer, config] = flags.conversion.read(args, flags.each());
  const ConversionOptions& o = flags.conversion;
  if (!o.trim_vocab) warn_of_spare_rows(tokenizer->vocabulary(), config, o.from);
  if (o.trim_vocab) config.vocab_size = static_cast<int64_t>(tokenizer->vocabulary().size());
  ConversionNames names;
  ConversionWants wants{.heads = o.format != "tf2-encoder",
                        .training = o.format != "hf" && o.format != "tf2-encoder"};
  std::unique_ptr<CheckpointReader> tensors = conversion_of(
      open_weights(o.model.weights(), wants.heads), config, wants, o.trim_vocab, names);
  write_converted({o.from, o.to, o.format, config, *tokenizer, *tensors, o.overwrite});
  print_names("used", names.used, out);
  print_names("unused", names.unused, out);
  print_names("missing", names.missing, out);
  out << "format = " << o.format << "\nwritten = " << o.to << "\n";
}

}  // namespace

const Command kConvertCommand = {
    "convert", "a checkpoint in another program's format",
    "bertrain convert --from=uncased_L-12_H-768_A-12 --to=bert-base\n"
    "bertrain convert --from=bert-base --to=google/bert_model.ckpt\n"
    "bertrain convert --from=bert-base --to=tf2/bert_model.ckpt-1 --format=tf2-encoder",
    run_convert};

}  // namespace bertrain
