// The global batches of a run, from any step on, in an order that depends on the settings alone.
#pragma once

#include <cstdint>
#include <string>

#include "data/packer.h"
#include "task/task.h"

namespace bertrain {

struct TrainingStreamOptions {
  std::string split = "train";
  int64_t batch_size = 32;
  int64_t shuffle_buffer = 10000;  // 1: file order
  uint64_t seed = 0;               // each pass has an order of its own
  // Where a pass ends inside a batch: false, the batch goes on with the next pass (repeat, then
  // batch: Google's order); true, the batch ends there, smaller than the others, so that a pass is
  // ⌈count / batch_size⌉ steps.
  bool cut_at_pass_ends = false;
  PackOptions pack;
};

// The same examples, but next() throws Stopped once a signal asked to leave: a large batch takes
// long to put together.
ExampleStream stoppable(ExampleStream examples);

// The batch of step `first_step`, of the next one, … without end, packed by a thread of their own.
// The same batches whether the stream began at step 0 or not.
BatchStream training_batches(const Task& task, const TrainingStreamOptions& options,
                             uint64_t first_step);

}  // namespace bertrain
