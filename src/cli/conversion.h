// What of a checkpoint goes into a conversion: its tensors under our names, held against the shape of
// the model that they are said to be.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/config.h"

namespace bertrain {

// Names of the source (ours, or the file's for what is not ours) by what becomes of them.
struct ConversionNames {
  std::vector<std::string> used, unused, missing;
};

// Its rows, like the word table's (model/bert.h), are those of the vocabulary.
inline constexpr std::string_view kOutputBias = "cls/predictions/output_bias";

struct ConversionWants {
  bool heads = true;     // cls/…, output_weights, output_bias
  bool training = true;  // slots of the optimizer, global_step
};

// Whether the name is a parameter of the encoder's, or a head's.
bool is_encoder(std::string_view name);
bool is_head(std::string_view name);

// "used = 46" and a line for each.
void print_names(std::string_view what, const std::vector<std::string>& names, std::ostream& out);

// A reader of the tensors that are `used`. Throws Error that lists
// all encoder weights that are missing or, like those of the heads, of another shape than `config` makes
// them; a pooler may be missing. `trim_vocab`: the table's rows from config.vocab_size on are left out, with those of the
// masked LM's bias and of their slots.
std::unique_ptr<CheckpointReader> conversion_of(std::unique_ptr<CheckpointReader> from,
                                                const BertConfig& config,
                                                const ConversionWants& wants, bool trim_vocab,
                                                ConversionNames& names);

}  // namespace bertrain
