// The list of tasks.
#include "task/catalog/catalog.h"

#include <algorithm>

#include "base/checked_json.h"
#include "base/error.h"

namespace bertrain {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Task> (*make)(const TaskOptions& options, const Json* description);
};

constexpr char kClassification[] = "classification", kMultiLabel[] = "multilabel",
               kRegression[] = "regression";

// Tables of texts with labels of that kind.
template <const char* kind>
std::unique_ptr<Task> classification_of(const TaskOptions& o, const Json* description) {
  check(o.tokenizer != nullptr, "a task of texts needs a tokenizer");
  return make_classification(kind, o.classification, o.config, o.tokenizer, description,
                             o.described_in);
}

constexpr Entry kTasks[] = {
    {"pretraining",
     [](const TaskOptions& o, const Json* description) {
       PretrainingOptions options = o.pretraining;
       if (description) {
         JsonValue described(*description, o.described_in, "task");
         if (auto next = described.find("next_sentence")) options.next_sentence = next->truth();
       }
       return make_pretraining(options, o.config);
     }},
    {"classification", classification_of<kClassification>},
    {"multilabel", classification_of<kMultiLabel>},
    {"regression", classification_of<kRegression>},
    {"squad",
     [](const TaskOptions& o, const Json* description) {
       check(o.tokenizer != nullptr, "a task of texts needs a tokenizer");
       return make_squad(o.squad, o.config, o.tokenizer, description, o.described_in);
     }},
    {"tagging",
     [](const TaskOptions& o, const Json* description) {
       check(o.tokenizer != nullptr, "a task of texts needs a tokenizer");
       return make_tagging(o.tagging, o.config, o.tokenizer, description, o.described_in);
     }},
    {"multiple_choice",
     [](const TaskOptions& o, const Json* description) {
       check(o.tokenizer != nullptr, "a task of texts needs a tokenizer");
       return make_choice(o.choice, o.config, o.tokenizer, description, o.described_in);
     }},
};

}  // namespace

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kTasks) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Task> make_task(std::string_view name, const TaskOptions& options,
                                const Json* description) {
  for (const Entry& entry : kTasks) {
    if (entry.name == name) return entry.make(options, description);
  }
  throw usage_error("there is no task '{}'; there are {}", name, fmt::join(task_names(), ", "));
}

std::unique_ptr<Task> make_described_task(const Json& description, const TaskOptions& options) {
  JsonValue task = JsonValue(description, options.described_in, "task").at("task");
  std::vector<std::string> names = task_names();
  if (std::find(names.begin(), names.end(), task.text()) == names.end()) {
    task.fail(fmt::format("one of {}", fmt::join(names, ", ")));
  }
  return make_task(task.text(), options, &description);
}

}  // namespace bertrain
