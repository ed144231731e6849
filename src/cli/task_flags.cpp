// One list of flags for all tasks, of which each takes its own.
#include "cli/task_flags.h"

#include "base/error.h"
#include "base/log.h"
#include "cli/tagging_options.h"
#include "task/recorded.h"
#include "task/table/layouts.h"
#include "task/table/table_source.h"

namespace bertrain {
namespace {

// What concerns tables alone is no part of a run on questions, nor the other way round.
void refuse_others_options(const TaskFlags& o) {
  TaskFlags untouched;
  bool squad = o.task == "squad";
  auto values = [&](TaskFlags& of) {
    if (!squad) {
      return options_to_json([&](OptionVisitor& v) { of.squad.each(v, true); });
    }
    return options_to_json([&](OptionVisitor& v) { of.classification.each(v); });
  };
  TaskFlags given = o;
  // Flags that mean the same for both.
  static_cast<DataOptions&>(given.classification) = {};
  given.classification.classifier_dropout = untouched.classification.classifier_dropout;
  // Windows of a table's texts are as far apart as its own checks allow.
  if (!squad && o.task != "tagging") given.squad.doc_stride = 0;
  Json found = values(given), defaults = values(untouched);
  for (const auto& [name, value] : found.items()) {
    if (value == defaults[name]) continue;
    throw usage_error("--{}: --task={} has no such option; {} has", name, o.task,
                      squad ? "a task on tables of texts" : "--task=squad");
  }
}

// What tables with one text, or any label, have.
void refuse_for_choices(const TaskFlags& o) {
  const ClassificationOptions& table = o.classification;
  if (o.task != "multiple_choice") {
    if (o.choice.choice_columns.empty()) return;
    throw usage_error("--choice_columns is for --task=multiple_choice; the task is {}", o.task);
  }
  const std::pair<bool, const char*> others[] = {
      {!table.long_text.empty(), "long_text"},
      {o.squad.doc_stride != 0, "doc_stride"},
      {!table.target.labels.empty(), "labels"},
      {table.target.label_separator != TargetOptions().label_separator, "label_separator"},
      {!table.target.class_weights.empty(), "class_weights"},
      {table.target.label_smoothing != 0, "label_smoothing"},
  };
  for (const auto& [given, name] : others) {
    if (given) throw usage_error("--{}: --task=multiple_choice has no such option", name);
  }
}

// Records were read and cut when they were made: what says how texts are is for prepare, but for texts
// beside them that are to be scored or predicted.
void refuse_for_records(const TaskFlags& o) {
  const ClassificationOptions& table = o.classification;
  // Records of questions are scored by SQuAD's file, and what they were cut by is compared.
  if (table.input_meta_data_path.empty() || o.task == "squad") return;
  bool has_texts = !table.test_file.empty() || !table.data_dir.empty() ||
                   (!table.dev_file.empty() && !is_recorded(table.dev_file, nullptr));
  std::string why = fmt::format(
      "the records of {} have their texts read and cut already; prepare, which made them, takes it",
      table.input_meta_data_path);
  if (!table.long_text.empty()) throw usage_error("--long_text has no effect here: {}", why);
  if (o.squad.doc_stride != 0) throw usage_error("--doc_stride has no effect here: {}", why);
  auto values = [](TaskFlags flags) {
    return options_to_json([&](OptionVisitor& v) { flags.each(v); });
  };
  if (!has_texts) refuse_text_flags(values(o), values(TaskFlags()), why);
}

SquadOptions squad_options(const TaskFlags& o) {
  SquadOptions squad = o.squad;
  static_cast<DataOptions&>(squad) = o.classification;
  return squad;
}

}  // namespace

void TaskFlags::each(OptionVisitor& v) {
  v("task", task,
    fmt::format(
        "of texts or pairs of texts: classification, multilabel (any number of labels a row) or "
        "regression (a number); with --data_dir one of GLUE's tasks, {}xnli or ag_news; squad: "
        "questions on contexts, in SQuAD's JSON; tagging: a tag a word, in CoNLL columns; "
        "multiple_choice: which of several texts goes with a context, in columns as SWAG's",
        takes_glue ? "all of them (glue), " : ""));
  classification.each(v);
  squad.each(v, true);
  tagging.each(v);
  choice.each(v);
}

void TaskFlags::check() const {
  if (best_metric_of(task).empty()) {
    throw usage_error(
        "--task={}: classification, multilabel, regression, squad, tagging or multiple_choice "
        "expected, or one of {}{}",
        task, fmt::join(layout_names(), ", "), takes_glue ? ", glue" : "");
  }
  refuse_others_options(*this);
  refuse_for_choices(*this);
  refuse_for_records(*this);
  bool layout = find_layout(task) != nullptr;
  if (!layout && !classification.data_dir.empty()) {
    throw usage_error("--data_dir is for --task={}; --train_file names a table",
                      fmt::join(layout_names(), ", "));
  }
  bool has_dev = !classification.dev_file.empty() || !classification.data_dir.empty();
  bool holds_out = classification.dev_fraction != ClassificationOptions().dev_fraction &&
                   classification.dev_fraction != 0;
  if (has_dev && holds_out) {
    throw usage_error(
        "--dev_fraction={} has no effect: {} has the rows to evaluate on, and none are held out",
        classification.dev_fraction, classification.dev_file.empty() ? "--data_dir" : "--dev_file");
  }
  if (classification.train_file.empty() && (!layout || classification.data_dir.empty())) {
    throw usage_error("{}", layout ? "--data_dir is needed: the folder with the task's tables"
                                   : "--train_file is needed");
  }
}

void TaskFlags::say_limit() const {
  if (classification.limit <= 0) return;
  std::vector<std::string> files = table_files(task_options().classification);
  std::erase(files, classification.input_meta_data_path);
  const char* rows = task == "squad" ? "questions" : task == "tagging" ? "sentences" : "rows";
  const std::string& test = classification.test_file;
  log_line("--limit={}: of each of {} the first {} {} are read{}", classification.limit,
           fmt::join(files, ", "), classification.limit, rows,
           test.empty() ? "" : fmt::format("; {} is predicted whole", test));
}

std::string TaskFlags::kind() const {
  const TableLayout* layout = find_layout(task);
  return layout ? layout->kind : task;
}

TaskOptions TaskFlags::task_options() const {
  TaskOptions made;
  made.classification = classification;
  made.classification.doc_stride = squad.doc_stride;
  made.squad = squad_options(*this);
  if (task == "tagging") {
    made.tagging = tagging_of(classification, tagging);
  } else {
    refuse_tag_columns(tagging, task);
  }
  made.choice = choice;
  made.choice.table = classification;
  if (find_layout(task)) made.classification.layout = task;
  return made;
}

void refuse_text_flags(const Json& given, const Json& defaults, std::string_view why) {
  for (const char* name :
       {"text_column", "text_b_column", "label_column", "id_column", "header", "format", "bad_rows",
        "invalid_utf8", "label_separator", "choice_columns", "word_column", "tag_column"}) {
    if (!given.contains(name) || given[name] == defaults.at(name)) continue;
    throw usage_error("--{} has no effect here: {}", name, why);
  }
}

std::string best_metric_of(const std::string& task) {
  if (const TableLayout* layout = find_layout(task)) return layout->metric;
  if (task == "classification" || task == "multiple_choice") return "eval_accuracy";
  if (task == "multilabel") return "eval_micro_f1";
  if (task == "squad" || task == "tagging") return "eval_f1";
  return task == "regression" ? "eval_pearson" : "";
}

}  // namespace bertrain
