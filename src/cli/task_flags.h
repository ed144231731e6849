// Which task, and on which rows: the flags of commands that make a task from files.
#pragma once

#include <string>
#include <string_view>

#include "cli/options.h"
#include "task/catalog/catalog.h"

namespace bertrain {

struct TaskFlags {
  std::string task = "classification";  // a task's name, or a layout's
  ClassificationOptions classification;
  SquadOptions squad;
  TagColumns tagging;
  ChoiceOptions choice;
  bool takes_glue = false;  // the command has --task=glue: all of GLUE's tasks

  void each(OptionVisitor& v);
  // Usage errors for an unknown task, for options of another one or of texts where there are only records,
  // and where no rows are named.
  void check() const;
  // Logs which files are not read whole, where --limit is given.
  void say_limit() const;
  std::string kind() const;  // the name that make_task knows
  // For make_task, but for configuration and tokenizer.
  TaskOptions task_options() const;
};

// A usage error that says `why` for a flag of how rows of texts are found and read (columns, format and the
// like) whose value, of those that options_to_json gives, is not the default's.
void refuse_text_flags(const Json& given, const Json& defaults, std::string_view why);

// What decides which model is kept; "": there is no such task.
std::string best_metric_of(const std::string& task);

}  // namespace bertrain
