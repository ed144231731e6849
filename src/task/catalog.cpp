// The list of tasks.
#include "task/catalog.h"

#include "base/error.h"

namespace bertrain {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Task> (*make)(const TaskOptions& options, const Json* description);
};

constexpr Entry kTasks[] = {
    {"pretraining",
     [](const TaskOptions& o, const Json*) { return make_pretraining(o.pretraining, o.config); }},
    {"classification",
     [](const TaskOptions& o, const Json* description) {
       check(o.tokenizer != nullptr, "classification needs a tokenizer");
       return make_classification(o.classification, o.config, o.tokenizer, description);
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
  auto task = description.find("task");
  if (!description.is_object() || task == description.end() || !task->is_string()) {
    throw error("the model's description does not say what task it was trained for");
  }
  return make_task(task->get<std::string>(), options, &description);
}

}  // namespace bertrain
