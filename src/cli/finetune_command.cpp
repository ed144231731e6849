// The finetune command: a pre-trained encoder and a table of examples to a model for a task.
#include "cli/finetune_command.h"

#include <cmath>
#include <ostream>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "cli/model_fit.h"
#include "cli/training_run.h"
#include "task/catalog/catalog.h"
#include "train/signals.h"

namespace bertrain {
namespace {

struct FinetuneOptions {
  std::string task = "classification";
  ClassificationOptions classification;
  ModelOptions model;
  TrainingOptions training;
  double num_train_epochs = 3, warmup_proportion = 0.1;
  int64_t num_warmup_steps = -1;

  FinetuneOptions() { training.eval_every = "1epoch"; }

  EachOption each() {
    return [this](OptionVisitor& v) {
      v("task", task,
        "of texts or pairs of texts: classification, multilabel (any number of labels a row) or "
        "regression (a number)");
      classification.each(v);
      model.each(v);
      v("num_train_epochs", num_train_epochs,
        "passes over the training rows, where "
        "num_train_steps is 0");
      v("warmup_proportion", warmup_proportion, "share of the steps in which the rate rises");
      v("num_warmup_steps", num_warmup_steps, "the same as a number; -1: by the share");
      training.each(v);
    };
  }
};

// What decides which model is kept; null: there is no such task.
const char* best_metric_of(std::string_view task) {
  if (task == "classification") return "eval_accuracy";
  if (task == "multilabel") return "eval_micro_f1";
  return task == "regression" ? "eval_pearson" : nullptr;
}

void check_options(const FinetuneOptions& o) {
  check_training_options(o.training);
  if (!best_metric_of(o.task)) {
    throw usage_error("--task={}: classification, multilabel or regression expected", o.task);
  }
  if (o.classification.train_file.empty()) throw usage_error("--train_file is needed");
  if (!(o.num_train_epochs > 0 && o.num_train_epochs <= 1e6)) {
    throw usage_error("--num_train_epochs={}: a number above 0, and at most 1000000, expected",
                      o.num_train_epochs);
  }
  if (!(o.warmup_proportion >= 0 && o.warmup_proportion <= 1)) {
    throw usage_error("--warmup_proportion={}: a share from 0 to 1 expected", o.warmup_proportion);
  }
  check_warmup_steps(o.num_warmup_steps);
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

void run_finetune(Args args, std::ostream& out) {
  FinetuneOptions o;
  if (wants_help(args)) return print_help(kFinetuneCommand, o.each(), out);
  ignore_broken_pipes();
  parse_training_options(args, o.each(), o.training, o.model, true);
  if (std::optional<double> dropout = o.model.classifier_dropout()) {
    o.classification.classifier_dropout = *dropout;
    parse_only_options(args, o.each());  // what was given stands over what was found
    double rate = o.classification.classifier_dropout;
    if (rate == *dropout && !(rate >= 0 && rate <= kMostClassifierDropout)) {
      throw error(
          "{}: classifier_dropout is {} in its config.json; a share from 0 to {} expected, there "
          "or "
          "by --classifier_dropout",
          o.model.init_checkpoint, rate, kMostClassifierDropout);
    }
  }
  check_options(o);
  use_threads(o.training.threads);
  RunDirectory run(o.training.output_dir, parse_resume(o.training.resume), o.training.overwrite);
  run.logged([&] {
    log_line("finetune: checking the model and the rows; the run is in {}", run.path());
    TrainingJob job;
    job.command = "finetune";
    job.arguments.assign(args.begin(), args.end());
    job.settings = options_to_json(o.each());
    TaskOptions task;
    job.tokenizer = task.tokenizer = o.model.tokenizer();
    job.config = task.config = o.model.config(o.training.preset, *job.tokenizer);
    job.weights = o.model.weights();
    if (!job.weights.empty()) {
      warn_of_spare_rows(job.tokenizer->vocabulary(), job.config, job.weights);
    }
    job.inputs = o.model.files();
    task.classification = o.classification;
    job.task = make_task(o.task, task);
    for (const std::string& file : {o.classification.train_file, o.classification.dev_file}) {
      if (!file.empty()) job.data_files.push_back(file);
    }
    job.test_file = o.classification.test_file;
    job.inputs.push_back(job.test_file);
    job.new_head = o.model.has_other_head(job.task->describe());
    set_steps(job, o);
    job.best_metric = best_metric_of(o.task);
    run_training(run, job, o.training, out);
  });
}

}  // namespace

const Command kFinetuneCommand = {
    "finetune", "trains a pre-trained model for a task, from a table of examples",
    "bertrain finetune --train_file=train.tsv --init_checkpoint=run/model --learning_rate=1e-4 "
    "--output_dir=topics\n"
    "bertrain finetune --train_file=pairs.csv --text_column=question --text_b_column=answer "
    "--label_column=good --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt "
    "--num_train_epochs=2 --output_dir=pairs",
    run_finetune};

}  // namespace bertrain
