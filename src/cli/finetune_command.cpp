// The finetune command: a pre-trained encoder and a table of examples to a model for a task.
#include "cli/finetune_command.h"

#include <cmath>
#include <limits>
#include <ostream>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "cli/few_rows.h"
#include "cli/model_fit.h"
#include "cli/several_runs.h"
#include "cli/submission.h"
#include "cli/task_flags.h"
#include "cli/training_run.h"
#include "task/catalog/catalog.h"
#include "task/table/layouts.h"
#include "task/table/table_source.h"
#include "train/signals.h"

namespace bertrain {
namespace {

constexpr int64_t kMostRuns = 1000;

struct FinetuneOptions : TaskFlags {
  ModelOptions model;
  TrainingOptions training;
  double num_train_epochs = 3, warmup_proportion = 0.1;
  int64_t num_warmup_steps = -1, runs = 1, overfit = 0;

  FinetuneOptions() {
    takes_glue = true;
    training.eval_every = "1epoch";
  }

  EachOption each() {
    return [this](OptionVisitor& v) {
      TaskFlags::each(v);
      model.each(v);
      v("num_train_epochs", num_train_epochs,
        "passes over the training rows, where num_train_steps is 0");
      v("warmup_proportion", warmup_proportion, "share of the steps in which the rate rises");
      v("num_warmup_steps", num_warmup_steps, "the same as a number; -1: by the share");
      v("runs", runs, "with as many seeds, from --seed on: scores are a mean with its deviation");
      v("overfit", overfit,
        "only see whether the model fits so many training rows (8), and say what is wrong if it "
        "does not; no file is written");
      training.each(v);
    };
  }
};

// What was set, and does nothing where a few rows are fitted, is said.
void log_unused(FinetuneOptions& o) {
  FinetuneOptions usual;
  usual.training.preset = o.training.preset;
  std::string preset = "--preset=" + o.training.preset;
  std::vector<std::string_view> args = {preset};
  parse_training_options(args, usual.each(), usual.training, usual.model, true);
  Json set = options_to_json(o.each()), unset = options_to_json(usual.each());
  std::vector<std::string> unused;
  for (const std::string& name : unused_by_few_rows()) {
    if (set.at(name) == unset.at(name)) continue;
    const Json& value = set.at(name);
    std::string text = value.is_string()         ? value.get<std::string>()
                       : value.is_number_float() ? fmt::format("{}", value.get<double>())
                                                 : value.dump();
    unused.push_back(fmt::format("--{}={}", name, text));
  }
  if (unused.empty()) return;
  log_line(
      "--overfit={}: one batch at a constant rate, and no file is written: {} without effect: {}",
      o.overfit, unused.size() == 1 ? "one option is" : "these are", fmt::join(unused, ", "));
}

// What does not depend on the task.
void check_shared_options(FinetuneOptions& o) {
  require_between("overfit", o.overfit, 0, kMostFewRows);
  if (o.overfit > 0) o.training.output_dir = "none";
  check_training_options(o.training);
  require_between("runs", o.runs, 1, kMostRuns);
  int64_t most = std::numeric_limits<int64_t>::max() - (o.runs - 1);
  if (o.training.seed > most) {
    throw usage_error("--seed={}: with --runs={} each run has the next seed; at most {} expected",
                      o.training.seed, o.runs, most);
  }
  if (!(o.num_train_epochs > 0 && o.num_train_epochs <= 1e6)) {
    throw usage_error("--num_train_epochs={}: a number above 0, and at most 1000000, expected",
                      o.num_train_epochs);
  }
  if (!(o.warmup_proportion >= 0 && o.warmup_proportion <= 1)) {
    throw usage_error("--warmup_proportion={}: a share from 0 to 1 expected", o.warmup_proportion);
  }
  check_warmup_steps(o.num_warmup_steps);
}

// All of GLUE is trained on its own tables in data_dir.
void check_glue_options(const FinetuneOptions& o) {
  const ClassificationOptions& table = o.classification;
  if (table.data_dir.empty()) {
    throw usage_error(
        "--data_dir is needed: the folder with those of GLUE's tasks (CoLA, SST-2, MRPC, …)");
  }
  const std::pair<bool, std::string_view> of_one_table[] = {
      {!table.train_file.empty(), "train_file"},
      {!table.dev_file.empty(), "dev_file"},
      {!table.test_file.empty(), "test_file"},
      {!table.input_meta_data_path.empty(), "input_meta_data_path"},
      {!table.text_column.empty(), "text_column"},
      {!table.text_b_column.empty(), "text_b_column"},
      {!table.label_column.empty(), "label_column"},
      {!table.id_column.empty(), "id_column"},
      {table.header.has_value(), "header"},
      {!table.format.empty(), "format"},
      {!table.target.labels.empty(), "labels"},
  };
  for (const auto& [given, name] : of_one_table) {
    if (!given) continue;
    throw usage_error(
        "--{}: --task=glue trains each of its tasks on its own tables in --data_dir, whose columns "
        "and labels are known; for one table name one task",
        name);
  }
}

// Options that others take the place of, and what is not read, are said where a run begins, and not
// where it is only checked.
void say_idle(const FinetuneOptions& o) {
  const FinetuneOptions usual;
  o.say_limit();
  if (o.training.num_train_steps > 0 && o.num_train_epochs != usual.num_train_epochs) {
    log_line("--num_train_epochs={} has no effect: --num_train_steps={} says how long it trains",
             o.num_train_epochs, o.training.num_train_steps);
  }
  if (o.num_warmup_steps >= 0 && o.warmup_proportion != usual.warmup_proportion) {
    log_line("--warmup_proportion={} has no effect: --num_warmup_steps={} is given",
             o.warmup_proportion, o.num_warmup_steps);
  }
}

// Steps of the run. The last batch of an epoch counts although it is smaller, so that an epoch has
// a step even where all rows fit in one batch.
void set_steps(TrainingJob& job, const FinetuneOptions& o) {
  auto rows = static_cast<int64_t>(job.task->count("train").value());
  int64_t batch = o.training.train_batch_size;
  int64_t epoch = (rows + batch - 1) / batch;
  job.shuffle_buffer = int64_t{1} << 40;  // all: the table is in memory
  job.cut_at_pass_ends = true;
  job.steps_per_epoch = static_cast<double>(epoch);
  job.steps = o.training.num_train_steps;
  if (job.steps == 0) {
    job.steps = std::max<int64_t>(1, std::llround(job.steps_per_epoch * o.num_train_epochs));
  }
  if (job.steps > kMaxSteps) {
    throw usage_error("--num_train_epochs={}: {} steps of {} rows; at most {} steps expected",
                      o.num_train_epochs, job.steps, rows, kMaxSteps);
  }
  job.warmup = o.num_warmup_steps >= 0
                   ? o.num_warmup_steps
                   : static_cast<int64_t>(static_cast<double>(job.steps) * o.warmup_proportion);
}

InferenceOptions inference_of(const RunDirectory& run, const TrainingOptions& training) {
  InferenceOptions how;
  how.model_dir = run.file("model");
  how.device = training.device;
  how.dtype = training.dtype;
  how.memory = training.memory;
  how.threads = training.threads;
  how.replicas = training.replicas;
  return how;
}

// The options with what the initial checkpoint says of them.
FinetuneOptions parsed(Args args) {
  FinetuneOptions o;
  parse_training_options(args, o.each(), o.training, o.model, true);
  bool squad = o.task == "squad";
  if (squad && o.classification.classifier_dropout != ClassificationOptions().classifier_dropout) {
    throw usage_error(
        "--classifier_dropout: --task=squad has no dropout before its output layer, as in "
        "run_squad.py");
  }
  std::optional<double> dropout = o.model.classifier_dropout();
  if (dropout && !squad) {
    o.classification.classifier_dropout = *dropout;
    parse_only_options(args, o.each());  // what was given stands over what was found
    double rate = o.classification.classifier_dropout;
    if (rate == *dropout && !(rate >= 0 && rate <= kMostClassifierDropout)) {
      throw error(
          "{}: classifier_dropout is {} in its config.json; a share from 0 to {} expected, there "
          "or by --classifier_dropout",
          o.model.init_checkpoint, rate, kMostClassifierDropout);
    }
  }
  check_shared_options(o);
  o.check();
  return o;
}

// Checks model and rows.
TrainingJob job_of(Args args, FinetuneOptions& o) {
  TrainingJob job;
  job.command = "finetune";
  job.arguments.assign(args.begin(), args.end());
  job.settings = options_to_json(o.each());
  job.settings.erase("overfit");
  job.tokenizer = o.model.tokenizer();
  job.config = o.model.config(o.training.preset, *job.tokenizer);
  if (o.overfit > 0) {
    // What is left out by chance keeps even a sound model from a small loss.
    job.config.hidden_dropout_prob = job.config.attention_probs_dropout_prob = 0;
    o.classification.classifier_dropout = o.classification.target.label_smoothing = 0;
  }
  adamw_options(o.training, job.config.num_hidden_layers);  // what is wrong is said before tables
  TaskOptions task = o.task_options();
  task.tokenizer = job.tokenizer;
  task.config = job.config;
  job.weights = o.model.weights();
  if (!job.weights.empty()) {
    warn_of_spare_rows(job.tokenizer->vocabulary(), job.config, job.weights);
  }
  job.inputs = o.model.files();
  job.task = make_task(o.kind(), task);
  job.data_files = table_files(task.classification);
  job.test_file = o.classification.test_file;
  job.inputs.push_back(job.test_file);
  job.new_head = o.model.has_other_head(job.task->describe());
  set_steps(job, o);
  job.best_metric = best_metric_of(o.task);
  return job;
}

}  // namespace

void overfit(Args args, const std::function<void(const TrainingJob& job)>& look,
             std::ostream& out) {
  FinetuneOptions o = parsed(args);
  use_threads(o.training.threads);
  log_unused(o);
  o.say_limit();
  TrainingJob job = job_of(args, o);
  look(job);
  fit_few_rows(job, o.training, o.overfit, out);
}

namespace {

RunDirectory directory_of(const FinetuneOptions& o) {
  return {o.training.output_dir, parse_resume(o.training.resume), o.training.overwrite};
}

// The best model's scores, as of RunOnce.
Json train_once(Args args, FinetuneOptions& o, const Groups& groups, std::ostream& out) {
  Json scores = Json::object();
  RunGroup alone(o.training.output_dir, {}, o.training.overwrite);
  RunDirectory run = directory_of(o);
  for (const RunGroup* group : groups) group->join(run);
  alone.join(run);
  run.logged([&] {
    log_line("finetune: checking the model and the rows; the run is in {}", run.path());
    say_idle(o);
    run_training(run, job_of(args, o), o.training, out);
    if (!run.finished_step()) return;
    scores = run.record()["finished"]["results"]["scores"];
    const TableLayout* layout = find_layout(o.task);
    if (!layout || o.classification.data_dir.empty()) return;
    for (const std::string& file :
         write_submission(*layout, o.classification.data_dir, run.file("submission"),
                          inference_of(run, o.training))) {
      out << "submission = " << file << "\n";
    }
  });
  return scores;
}

Seeds seeds_of(const FinetuneOptions& o) {
  return {{o.training.output_dir, o.training.overwrite}, o.training.seed, o.runs};
}

Json train_runs(const Arguments& arguments, const Groups& groups, std::ostream& out) {
  std::vector<std::string_view> args(arguments.begin(), arguments.end());
  FinetuneOptions o = parsed(args);
  use_threads(o.training.threads);
  if (o.runs == 1) return train_once(args, o, groups, out);
  auto once = [&](const Arguments& more, const Groups& all) { return train_runs(more, all, out); };
  return run_seeds(args, seeds_of(o), groups, once, out);
}

// All that can be wrong with model, rows and folder, before anything runs. Of several seeds the first
// stands for the others.
void check_runs(const Arguments& arguments, Groups groups) {
  std::vector<std::string_view> args(arguments.begin(), arguments.end());
  FinetuneOptions o = parsed(args);
  use_threads(o.training.threads);
  Seeds seeds = seeds_of(o);
  RunGroup group(o.training.output_dir, o.runs == 1 ? std::vector<std::string>() : seeds.folders(),
                 o.training.overwrite);
  groups.push_back(&group);
  if (o.runs > 1) return check_runs(seeds.arguments(args, 0), groups);
  RunDirectory run = directory_of(o);
  for (const RunGroup* each : groups) each->join(run);
  check_training(run, job_of(args, o), o.training);
}

void run_finetune(Args args, std::ostream& out) {
  FinetuneOptions o;
  if (wants_help(args)) return print_help(kFinetuneCommand, o.each(), out);
  ignore_broken_pipes();
  parse_training_options(args, o.each(), o.training, o.model, true);
  auto runs = [&](const Arguments& arguments, const Groups& groups) {
    return train_runs(arguments, groups, out);
  };
  require_between("overfit", o.overfit, 0, kMostFewRows);
  if (o.overfit > 0) {
    if (o.task == "glue") {
      throw usage_error("--overfit={}: for one task, not for all of glue", o.overfit);
    }
    require_between("runs", o.runs, 1, kMostRuns);
    return overfit(
        args, [](const TrainingJob&) {}, out);
  }
  if (o.task != "glue") {
    runs(Arguments(args.begin(), args.end()), {});
    return;
  }
  check_shared_options(o);
  check_glue_options(o);
  run_glue(args, {o.training.output_dir, o.training.overwrite}, o.classification.data_dir,
           check_runs, runs, out);
}

}  // namespace

const Command kFinetuneCommand = {
    "finetune", "trains a pre-trained model for a task, from a table of examples",
    "bertrain finetune --train_file=train.tsv --init_checkpoint=run/model --learning_rate=1e-4 "
    "--output_dir=topics\n"
    "bertrain finetune --train_file=pairs.csv --text_column=question --text_b_column=answer "
    "--label_column=good --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt "
    "--num_train_epochs=2 --output_dir=pairs\n"
    "bertrain finetune --task=squad --train_file=train-v2.0.json --dev_file=dev-v2.0.json "
    "--init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt --output_dir=squad\n"
    "bertrain finetune --task=tagging --train_file=train.conll --dev_file=dev.conll "
    "--init_checkpoint=run/model --output_dir=names",
    run_finetune};

}  // namespace bertrain
