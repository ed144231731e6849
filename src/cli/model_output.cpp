// A model folder from a task, a tokenizer and a state.
#include "cli/model_output.h"

#include "checkpoint/model_folder.h"
#include "model/names.h"

namespace bertrain {

void write_model(const std::string& path, const Task& task, const BertConfig& config,
                 const Tokenizer& tokenizer, const State& state, const Json& about) {
  Json description = task.describe();
  ModelFolder folder;
  folder.config = config_to_hugging_face(config);
  folder.architecture = "BertForPreTraining";
  if (auto labels = description.find("labels"); labels != description.end()) {
    folder.architecture = "BertForSequenceClassification";
    folder.problem_type = "single_label_classification";
    folder.labels = labels->get<std::vector<std::string>>();
  }
  if (auto dropout = description.find("classifier_dropout"); dropout != description.end()) {
    folder.classifier_dropout = dropout->get<double>();
  }
  folder.vocabulary = tokenizer.vocabulary().tokens();
  folder.do_lower_case = tokenizer.options().do_lower_case;
  folder.strip_accents = tokenizer.options().strip_accents;
  folder.max_chars_per_word = tokenizer.options().max_chars_per_word;
  folder.special_tokens_in_text = tokenizer.options().special_tokens_in_text;
  folder.max_length = config.max_position_embeddings;
  folder.bertrain = {{"task", description}, {"about", about}};
  write_model_folder(path, folder, state.snapshot(false), to_hugging_face, is_kernel);
}

}  // namespace bertrain
