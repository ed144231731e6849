// The result of a run as a folder: `transformers` opens it as it is, we need nothing beside it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/renamed.h"

namespace bertrain {

struct ModelFolder {
  Json config;               // transformers.BertConfig's or RobertaConfig's keys: sizes, rates, …
  std::string architecture;  // "BertForSequenceClassification"
  std::vector<std::string> labels;  // by class number; empty: the task has none
  std::string problem_type;         // "single_label_classification", …; empty: left out
  std::optional<double> classifier_dropout;

  // Tokens by id, special tokens among them, to be written. Reading leaves it empty: what reads a
  // vocabulary with all its traps is Vocabulary::read, of the folder's vocab.txt.
  std::vector<std::string> vocabulary;
  // Name and content of the files of another tokenizer (RoBERTa's), written in place of BERT's; what
  // follows is BERT's. Reading leaves them empty too.
  std::vector<std::pair<std::string, std::string>> tokenizer;
  bool do_lower_case = true;
  bool says_casing = false;           // do_lower_case was read, and is not only the default
  std::optional<bool> strip_accents;  // absent: as do_lower_case
  int64_t max_chars_per_word = 200;
  bool says_longest_word = false;       // as says_casing
  bool special_tokens_in_text = false;  // [SEP] in a text is that piece, not text
  int64_t max_length = 512;             // tokens of an example at most

  bool is_roberta() const {
    auto type = config.find("model_type");
    return type != config.end() && *type == "roberta";
  }

  Json bertrain = Json::object();  // kept in bertrain.json as it is: Task::describe() and so on
};

// Writes config.json, vocab.txt (or RoBERTa's vocab.json and merges.txt), tokenizer.json,
// tokenizer_config.json, special_tokens_map.json and bertrain.json, then model.safetensors from `weights`, whose names `rename` gives in Hugging
// Face's (matrices with a kernel's name, by `transposes`, are turned). A weight without a name
// there is an Error. All files are on the device before the first gets its name, and the weights get theirs
// last, those of an earlier model being gone: a kill leaves either model, or a folder without weights.
void write_model_folder(std::string_view directory, const ModelFolder& folder,
                        const Named<Array>& weights, const Rename& rename,
                        const Transposes& transposes);
// The same of weights that are read one at a time, so that no more than one is held. `replaced`: files
// of another model in that folder, which are removed.
void write_model_folder(std::string_view directory, const ModelFolder& folder,
                        const CheckpointReader& weights, const Rename& rename,
                        const Transposes& transposes,
                        const std::vector<std::string>& replaced = {});

// The names of these files, for the tokenizer that the folder has one of.
std::vector<std::string> model_files(std::string_view directory);
// Those of them that are not there.
std::vector<std::string> missing_model_files(std::string_view directory);

// What a folder of ours or of transformers says of its model; the weights are open_checkpoint()'s.
// Keys of config.json that are fields here are taken out of `config`. Throws Error naming the file
// that is missing or damaged; a folder without bertrain.json has bertrain null.
ModelFolder read_model_folder(std::string_view directory);

// Whether the directory holds a config.json and so can be read as a model folder.
bool is_model_folder(std::string_view directory);

}  // namespace bertrain
