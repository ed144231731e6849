// What commands that turn one model into another share: where it comes from, and where it goes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cli/model_source.h"
#include "cli/options.h"

namespace bertrain {

struct ConversionOptions {
  std::string from, to;
  std::string format;  // after read() never empty (cli/converted_model.h)
  ModelOptions model;
  bool overwrite = false;
  // convert alone lists it: rows beyond the vocabulary go, which may be a part of the model's own.
  bool trim_vocab = false;

  void each(OptionVisitor& v);

  struct Source {
    std::shared_ptr<const Tokenizer> tokenizer;
    BertConfig config;
  };
  // Parses the arguments, `each` of the whole command, and reads the source's shape and vocabulary,
  // whose casing is the default of the options. Throws a usage error where --from or --to is not
  // given, and Error where a checkpoint is at --to already.
  Source read(std::span<const std::string_view> args, const EachOption& each);
};

}  // namespace bertrain
