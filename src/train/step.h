// One training step: losses, gradients, sums over micro-batches and ranks, clip, update; and
// evaluation. Recorded once for each capacity, run many times.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "task/task.h"
#include "train/state.h"

namespace bertrain {

struct StepOptions {
  std::shared_ptr<const Optimizer> optimizer;  // make_adamw(…)
  Schedule schedule;
  double clip_norm = 1.0;       // 0: no clipping
  bool clip_norm_rows = false;  // the norm takes word-embedding gradients before rows of one token
                                // are summed, as TensorFlow does for sparse gradients
  DType compute = DType::f32;   // or bf16: activations; masters, norms, losses and logits stay f32
  uint64_t seed = 0;            // of dropout
  bool distributed = false;  // several replicas or ranks: gradients and losses are summed over all
};

// Names in the programs:
//   NAME, NAME/adam_m …    parameters and slots, in and out: the new values take the memory
//   batch/FIELD            fields of the packer and of the task's schema
//   weight/TERM            f32, like the term's losses: raw weights ÷ normaliser of the global
//   batch dropout_key/…          u32 [2], one for each use of dropout scalar/NAME            f32
//   [], of the optimizer sum/NAME, rows_norm    gradients (and the rows' Σ²) summed over the
//   micro-batches, in and out
// and out only:
//   loss/TERM              f32 []: Σ weight · loss of this batch
//   gradient_norm          f32 []; not finite: nothing was updated
// Evaluation gives loss/TERM un-reduced ([E] or [M]) and prediction/NAME.
std::unique_ptr<Recording> record_step(const Task& task, const StepOptions& options,
                                       const Capacity& capacity);
std::unique_ptr<Recording> record_micro(const Task& task, const StepOptions& options,
                                        const Capacity& capacity);
// Also sets the sums to zero, for the next step.
std::unique_ptr<Recording> record_apply(const std::vector<Parameter>& parameters,
                                        const std::vector<LossTerm>& terms,
                                        const StepOptions& options);
std::unique_ptr<Recording> record_evaluation(const Task& task, DType compute,
                                             const Capacity& capacity);

// The parameters of a task's model, found by recording it once at the smallest capacity. Their
// `master` is of that recording, which is gone: names, shapes and first values count.
std::vector<Parameter> parameters_of(const Task& task);

// The types of the batch's arrays at a capacity: the packer's fields and the schema's.
Named<ArrayType> batch_types(const Schema& schema, const Capacity& capacity);

// The normaliser of each term over a global batch: Σ raw weight + epsilon, summed over ranks when
// there is a communicator; 1 where that is 0, as nothing is divided by it then.
Named<double> normalisers(const std::vector<LossTerm>& terms, const std::vector<Batch>& micro,
                          Communicator* communicator = nullptr);

struct StepResult {
  Named<double> losses;      // by term: the mean over the global batch, by the task's normaliser
  double loss = 0;           // their sum
  double gradient_norm = 0;  // before clipping
  float rate = 0;
  bool finite() const;  // of loss and norm; if not, parameters and slots are as they were
};

// A recording, its inputs, and what the backend made of it.
struct Compiled {
  std::unique_ptr<Recording> recording;
  Named<ArrayType> inputs;
  std::unique_ptr<Program> program;
};

// The host's side of training steps: compiles the programs that it meets, fills in keys and
// scalars, accumulates, applies.
class StepRunner {
 public:
  // All must outlive the runner. communicator: null for one process.
  StepRunner(const Task& task, State& state, StepOptions options,
             Communicator* communicator = nullptr);

  // The update from `step` to `step` + 1 on one global batch, given as its micro-batches (one at
  // least; of equal number on every rank). With one, a single program does all; with more,
  // gradients are summed first. When a program is interrupted before its update, the state is as it
  // was before.
  StepResult run(uint64_t step, const std::vector<Batch>& micro);

  // Compiles without running, to learn what is needed: by a whole step, or by one micro-batch of
  // several.
  ProgramFacts facts(const Capacity& capacity, bool accumulates);

  const StepOptions& options() const { return options_; }

 private:
  enum class Kind : int64_t { step, micro, apply };
  Compiled& compiled(Kind kind, const Capacity& capacity);
  DeviceArrays inputs_of(const Compiled& program, uint64_t step);
  DeviceArrays run_micro(uint64_t step, const std::vector<Batch>& micro,
                         const Named<double>& normalisers);

  const Task& task_;
  State& state_;
  StepOptions options_;
  Communicator* communicator_;
  std::vector<LossTerm> terms_;
  std::map<std::vector<int64_t>, Compiled> programs_;
  DeviceArrays sums_;  // zero between steps
};

// Losses and predictions of a batch with the state's parameters; dropout is off.
class EvaluationRunner {
 public:
  EvaluationRunner(const Task& task, const State& state, DType compute = DType::f32);

  struct Result {
    Named<Array> losses;       // by term, un-reduced, f32 [E] or [M]
    Named<Array> predictions;  // by name
  };
  Result run(const Batch& batch);
  ProgramFacts facts(const Capacity& capacity);

 private:
  Compiled& compiled(const Capacity& capacity);

  const Task& task_;
  const State& state_;
  DType compute_;
  std::map<std::vector<int64_t>, Compiled> programs_;
};

}  // namespace bertrain
