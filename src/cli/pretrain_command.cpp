// The pretrain command: masked language model and next sentence, from records to a model folder.
#include "cli/pretrain_command.h"

#include <algorithm>
#include <limits>
#include <ostream>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "cli/model_fit.h"
#include "cli/run_group.h"
#include "cli/training_run.h"
#include "storage/storage.h"
#include "task/pretraining.h"
#include "text/vocabulary.h"
#include "train/signals.h"

namespace bertrain {
namespace {

struct PretrainOptions {
  PretrainingOptions task;
  ModelOptions model;
  TrainingOptions training;
  int64_t num_warmup_steps = -1, max_eval_steps = 0;

  PretrainOptions() { training.num_train_steps = 100000; }

  EachOption each() {
    return [this](OptionVisitor& v) {
      task.each(v);
      model.each(v);
      v("num_warmup_steps", num_warmup_steps, "steps of rising rate; -1: a tenth of all");
      v("max_eval_steps", max_eval_steps, "batches of an evaluation; 0: all of eval_file");
      training.each(v);
    };
  }
};

void check_options(const PretrainOptions& o) {
  check_training_options(o.training);
  if (o.task.input_file.empty()) {
    throw usage_error("--input_file is needed: TFRecords, as bertrain prepare writes them");
  }
  if (o.training.num_train_steps < 1) {
    throw usage_error("--num_train_steps={}: 1 or more expected", o.training.num_train_steps);
  }
  check_warmup_steps(o.num_warmup_steps);
  require_between("max_eval_steps", o.max_eval_steps, 0, std::numeric_limits<int64_t>::max());
}

void run_pretrain(Args args, std::ostream& out) {
  PretrainOptions o;
  if (wants_help(args)) return print_help(kPretrainCommand, o.each(), out);
  ignore_broken_pipes();
  parse_training_options(args, o.each(), o.training, o.model, false);
  check_options(o);
  use_threads(o.training.threads);
  RunGroup alone(o.training.output_dir, {}, o.training.overwrite);
  RunDirectory run(o.training.output_dir, parse_resume(o.training.resume), o.training.overwrite);
  alone.join(run);
  run.logged([&] {
    log_line("pretrain: checking the model and the records; the run is in {}", run.path());
    TrainingJob job;
    job.command = "pretrain";
    job.arguments.assign(args.begin(), args.end());
    job.settings = options_to_json(o.each());
    job.tokenizer = o.model.tokenizer();
    // what the records' targets are hidden behind
    job.tokenizer->vocabulary().require({job.tokenizer->special().mask});
    job.config = o.model.config(o.training.preset, *job.tokenizer);
    job.weights = o.model.weights();
    if (!job.weights.empty()) {
      warn_of_spare_rows(job.tokenizer->vocabulary(), job.config, job.weights);
    }
    job.inputs = o.model.files();
    adamw_options(o.training,
                  job.config.num_hidden_layers);  // what is wrong is said before records
    job.task = make_pretraining(o.task, job.config);
    for (const std::string& list : {o.task.input_file, o.task.eval_file}) {
      if (list.empty()) continue;
      std::vector<std::string> files = expand_globs(list);
      job.data_files.insert(job.data_files.end(), files.begin(), files.end());
    }
    job.steps = o.training.num_train_steps;
    job.warmup = o.num_warmup_steps >= 0 ? o.num_warmup_steps : job.steps / 10;
    job.max_eval_batches = o.max_eval_steps;
    job.best_metric = "loss";
    run_training(run, job, o.training, out);
  });
}

}  // namespace

const Command kPretrainCommand = {
    "pretrain", "trains a model on records of text: masked words and next sentences",
    "bertrain pretrain --input_file='data/*.tfrecord' --vocab_file=vocab.txt --model=tiny "
    "--num_train_steps=1000 --learning_rate=1e-3 --output_dir=run\n"
    "bertrain pretrain --input_file=more.tfrecord --init_checkpoint=run/model "
    "--num_train_steps=100 --output_dir=run2",
    run_pretrain};

}  // namespace bertrain
