// Every task by its name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "task/choice/choice.h"
#include "task/pretraining.h"
#include "task/squad/squad_task.h"
#include "task/table/classification.h"
#include "task/tagging/tagging.h"

namespace bertrain {

// What tasks are made from; each reads its own options.
struct TaskOptions {
  BertConfig config;
  std::shared_ptr<const Tokenizer> tokenizer;  // null where a task needs none (pretraining)
  PretrainingOptions pretraining;
  ClassificationOptions classification;
  SquadOptions squad;
  TaggingOptions tagging;
  ChoiceOptions choice;
  std::string described_in = "the model's description";  // the file of the description, for errors
};

// "pretraining", "classification", "multilabel", "regression", "squad", "tagging",
// "multiple_choice"
std::vector<std::string> task_names();

// By name; with a description (what describe() of the trained task gave) labels and settings are
// the model's. An unknown name is a usage error that lists the names.
std::unique_ptr<Task> make_task(std::string_view name, const TaskOptions& options,
                                const Json* description = nullptr);

// The task that a model folder's description names.
std::unique_ptr<Task> make_described_task(const Json& description, const TaskOptions& options);

}  // namespace bertrain
