// Where a command's model comes from: a new shape, a model folder, a run, or a TF checkpoint.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "checkpoint/model_folder.h"
#include "cli/options.h"
#include "cli/text_options.h"
#include "model/config.h"
#include "text/tokenizer.h"

namespace bertrain {

// A model folder at the path: the folder itself, or model/ of a run. nullopt: neither.
std::optional<std::string> find_model_folder(const std::string& path);

// A folder's parts in our terms: its configuration, and the tokenizer of its vocab.txt, or RoBERTa's of
// its tokenizer.json or vocab.json and merges.txt.
BertConfig config_of(const ModelFolder& folder, const std::string& path);
std::shared_ptr<const Tokenizer> tokenizer_of(const ModelFolder& folder, const std::string& path);
// The folder's vocab.txt, or the tokenizer.json that it has in its place.
std::string vocabulary_file(const std::string& path);
// Task::describe() as the folder keeps it; for a classifier of transformers, made from its labels,
// for one that answers questions "squad", and for one with a masked LM "pretraining".
// Null: the folder says nothing of a task. Throws Error when what it says does not name one.
Json task_of(const ModelFolder& folder, const std::string& path);
// The tokenizer's part of a folder to be written.
void put_tokenizer(const Tokenizer& tokenizer, const BertConfig& config, ModelFolder& folder);
// transformers' class of the model: "BertFor…", or "RobertaFor…" with that end.
std::string architecture_of(const BertConfig& config, std::string_view end);
std::string task_file(const std::string& path);  // where a folder has it

// A checkpoint of any kind whose tensors have our names (Google's). `masked_lm`: that head is used, and
// an output layer of its own is an Error; else one is left out, and that is said.
std::unique_ptr<CheckpointReader> open_weights(const std::string& uri, bool masked_lm);

// The shape that `model` (a size's name) or `bert_config_file` gives, with the preset's code for what
// it leaves open; usage errors where both or none are given. vocab_size counts with a size's name.
BertConfig model_shape(const std::string& model, const std::string& bert_config_file,
                       const std::string& preset, size_t vocab_size);

// Options of commands that train.
struct ModelOptions {
  std::string init_checkpoint, bert_config_file, model;
  TextOptions text;

  void each(OptionVisitor& v);
  // Reads what init_checkpoint names, so that its vocabulary and casing become defaults of the text
  // options: called between two rounds of parsing.
  void read_init_checkpoint();

  // The shape: of bert_config_file, of the checkpoint (its folder, or bert_config.json beside it),
  // or of `model` with the vocabulary's size. What bert_config.json and `model` leave open (which GELU,
  // the norms' epsilon) is as in the preset's code. Throws usage errors when there is none, or more
  // vocabulary lines than rows (V lines and R rows are both named). An Error when the weights have
  // another number of heads.
  BertConfig config(const std::string& preset, const Tokenizer& tokenizer) const;
  // Throws a usage error when the casing is not what the model folder says, and as require_casing() and
  // require_same_pieces().
  std::shared_ptr<const Tokenizer> tokenizer(bool part_of_vocabulary = false) const;
  std::optional<double> classifier_dropout() const;  // of a model folder that names one
  std::string weights() const { return weights_; }   // for open_weights; "": a new model
  // Whether the initial model has a head that is for another task than this (Task::describe()), or for
  // other classes or another order of them.
  bool has_other_head(const Json& task) const;
  std::vector<std::string> files() const;  // what is read; "" among them: none

 private:
  std::shared_ptr<const Tokenizer> make_tokenizer() const;
  std::optional<ModelFolder> folder_;
  std::string folder_path_, weights_;
  std::string own_vocabulary_;  // beside a TF checkpoint; "": there is none
};

}  // namespace bertrain
