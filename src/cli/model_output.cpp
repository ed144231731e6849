// A model folder from a task, a tokenizer and a state.
#include "cli/model_output.h"

#include "checkpoint/model_folder.h"
#include "cli/model_source.h"
#include "model/names.h"

namespace bertrain {
namespace {

std::string problem_type_of(const std::string& task) {
  if (task == "multilabel") return "multi_label_classification";
  return task == "regression" ? "regression" : "single_label_classification";
}

}  // namespace

void write_model(const std::string& path, const Task& task, const BertConfig& config,
                 const Tokenizer& tokenizer, const State& state, const Json& about) {
  Json description = task.describe();
  ModelFolder folder;
  folder.config = config_to_hugging_face(config);
  bool next_sentence = description.value("next_sentence", true);
  folder.architecture = architecture_of(config, next_sentence ? "ForPreTraining" : "ForMaskedLM");
  std::string kind = description.value("task", "");
  if (kind == "squad") {
    folder.architecture = architecture_of(config, "ForQuestionAnswering");
  } else if (kind == "multiple_choice") {
    // One output whatever the number of choices, so there are no labels to name.
    folder.architecture = architecture_of(config, "ForMultipleChoice");
  } else if (kind != "pretraining") {
    bool of_tokens = kind == "tagging";
    folder.architecture =
        architecture_of(config, of_tokens ? "ForTokenClassification" : "ForSequenceClassification");
    if (!of_tokens) folder.problem_type = problem_type_of(kind);
    // transformers' way to say that there is one output.
    folder.labels = kind == "regression" ? std::vector<std::string>{"LABEL_0"}
                                         : description["labels"].get<std::vector<std::string>>();
  }
  if (auto dropout = description.find("classifier_dropout"); dropout != description.end()) {
    folder.classifier_dropout = dropout->get<double>();
  }
  put_tokenizer(tokenizer, config, folder);
  folder.bertrain = {{"task", description}, {"about", about}};
  write_model_folder(path, folder, state.snapshot(false),
                     to_hugging_face_of(config.family, kind == "tagging"), is_kernel);
}

}  // namespace bertrain
