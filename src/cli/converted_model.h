// Where a converted or extended model goes: formats by name, and the files that belong together.
#pragma once

#include <string>

#include "checkpoint/checkpoint.h"
#include "model/config.h"
#include "text/tokenizer.h"

namespace bertrain {

// "tf1", "tf2", "tf2-encoder", "hf" or "safetensors": what --format says or, where it is empty, the
// name of --to does. Throws a usage error for others, and where there is no --to.
std::string converted_format(const std::string& to, const std::string& format);

// Throws Error where a checkpoint or a model folder is there already, and where a run is.
void require_unused(const std::string& to, const std::string& format, bool overwrite);

// Throws a usage error where a file that is read, the words to add, would be replaced by the result.
void require_kept(const std::string& words_file, const std::string& to, const std::string& format);

struct ConvertedModel {
  std::string from;  // a model folder keeps labels and task
  std::string to, format;
  const BertConfig& config;
  const Tokenizer& tokenizer;
  const CheckpointReader& tensors;  // under our names
  bool overwrite = false;
};

// All is on the device before anything there gets its name, and what was there goes just before: a failure
// leaves the old model, a kill at worst a new one without weights, never a mix. A source's folder says
// what kind of head is written; what the target cannot hold is a warning.
// Beside a prefix of TensorFlow bert_config.json and vocab.txt are written too, as Google released
// them; Error, before the weights are written, where one is there that says something else. Warns
// where Google's programs could not read the model.
void write_converted(const ConvertedModel& model);

}  // namespace bertrain
