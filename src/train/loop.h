// The training loop: batches → steps → metrics, evaluations, checkpoints.
#pragma once

#include <cstdint>
#include <functional>

#include "base/json.h"
#include "data/packer.h"
#include "train/cadence.h"
#include "train/journal.h"
#include "train/resume.h"
#include "train/step.h"

namespace bertrain {

struct LoopOptions {
  int64_t steps = 0;           // of the whole run
  double steps_per_epoch = 0;  // for cadences in epochs
  Cadence eval_every, save_every;
  int64_t stop_after = 0;  // leave after this step as if interrupted; 0: never
  int64_t patience = 0;  // evaluations in a row without a better model that end the run; 0: none do
};

// Trains from where `checkpoints` stand to the last step, or until StopSignals, which the caller
// holds, has a request. `evaluate` gives the scores of the model
// as it is (an empty function: there is nothing to evaluate on); it may leave by Stopped. At the
// end, and wherever the loop leaves, the state is in a checkpoint. Returns true when all steps are
// done or patience is over, false when a signal or stop_after ended it before.
//
// A loss or gradient that is not finite is an Error that names the step and the rows; the state
// before that step is the last that was saved.
bool train(const LoopOptions& options, StepRunner& runner, Stream<std::vector<Batch>>& batches,
           RunCheckpoints& checkpoints, Journal& journal, const std::function<Json()>& evaluate);

// Saved states that lie on the disk at once, one in the making among them, if the run goes from its
// start to its end: the `keep` newest and, if it is evaluated on the way, the best. What is saved by the
// clock counts as a few.
int64_t most_states(const LoopOptions& options, int64_t keep, bool evaluated);

}  // namespace bertrain
