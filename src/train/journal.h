// What a run says of its steps: console, metrics.jsonl, TensorBoard.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "data/packer.h"
#include "metrics/console.h"
#include "metrics/json_lines.h"
#include "metrics/tensorboard.h"
#include "train/step.h"

namespace bertrain {

// Goes on with the files of an earlier start: what they say of steps after `first` is dropped.
class Journal {
 public:
  // `directory` of the run; steps from `first` (done already) to `last`.
  Journal(const std::string& directory, int64_t first, int64_t last, int64_t log_every);

  // After a step. Every log_every steps, and after the first and the last: step, loss and each of
  // its terms, learning_rate, gradient_norm of that step; examples_per_second and
  // tokens_per_second (real ones) since the last entry, without what evaluations and saves took.
  void step(int64_t step, const std::vector<Batch>& micro, const StepResult& result);
  // The scores that are numbers, as {"step": …, "eval_accuracy": …}, and under tensorboard/eval.
  void evaluation(int64_t step, const Json& scores);
  // Brackets what is not training, so that speeds are those of training.
  void pause();
  void resume();

  double wasted_share() const { return waste_.share(); }  // slots computed without a token

 private:
  int64_t last_, log_every_;
  JsonLines lines_;
  EventWriter train_events_;
  std::unique_ptr<EventWriter> eval_events_;  // made at the first evaluation
  std::string directory_;
  int64_t first_;
  Console console_;
  Waste waste_;
  int64_t examples_ = 0, tokens_ = 0;  // since the last entry
  std::chrono::steady_clock::time_point since_;
  std::chrono::steady_clock::time_point paused_;
};

}  // namespace bertrain
