// The programs of training: a whole step, its parts for accumulation, and evaluation, each recorded
// for one capacity.
#pragma once

#include <memory>
#include <vector>

#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "task/task.h"
#include "tensor/scope.h"

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
//   NAME, NAME/adam_m …  parameters and slots, in and out: the new values take the memory; a
//                        parameter that does not learn is an input alone
//   batch/FIELD          fields of the packer and of the task's schema
//   weight/TERM          f32, like the term's losses: raw weights ÷ normaliser of the global batch
//   dropout_key/…        u32 [2], one for each use of dropout
//   scalar/NAME          f32 [], of the optimizer
//   sum/NAME             gradients summed over the micro-batches, in and out; also sum/loss/TERM
//                        and, for clip_norm_rows, sum/rows (Σ² of the rows)
// and out only:
//   loss/TERM            f32 []: Σ weight · loss of the global batch
//   gradient_norm        f32 [], before clipping; not finite: nothing was updated
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

}  // namespace bertrain
