// One training run from preflight to the model folder, the same for every task.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "cli/model_source.h"
#include "cli/training_options.h"
#include "task/task.h"
#include "train/run_directory.h"

namespace bertrain {

struct TrainingJob {
  std::string command;                  // "finetune"
  std::vector<std::string> arguments;   // as typed
  Json settings;                        // all options by name
  std::vector<std::string> data_files;  // whose contents decide the result
  std::vector<std::string> inputs;      // other files that are read
  std::shared_ptr<const Task> task;
  BertConfig config;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string weights;    // to start from; "": a new model
  bool new_head = false;  // the head of those weights is for other labels

  std::string test_file;  // rows to predict with the best model, if the task has them

  int64_t steps = 0;
  int64_t warmup = 0;
  double steps_per_epoch = 0;      // 0: not known; counted where a cadence needs it
  int64_t shuffle_buffer = 10000;  // when the user names none
  bool cut_at_pass_ends = false;
  int64_t max_eval_batches = 0;  // 0: all
  std::string best_metric;       // unless the options name one
};

// What the job asks of a run's folder: settings, fingerprints of what it reads.
RunRequest request_of(const TrainingJob& job);

// Everything is checked before the first step and before anything of an earlier run is touched.
// Prints the result to `out`. Throws an Error with ExitCode::retry when a signal ended it.
void run_training(RunDirectory& run, const TrainingJob& job, const TrainingOptions& options,
                  std::ostream& out);

// What of that needs no machine, so that a run whose turn comes late is known to be sound: files, settings
// of an earlier start, scores, batches.
void check_training(RunDirectory& run, const TrainingJob& job, const TrainingOptions& options);

// Prints the scores that are numbers as "eval_accuracy = 0.84", by name.
void print_scores(const Json& scores, std::ostream& out);

}  // namespace bertrain
