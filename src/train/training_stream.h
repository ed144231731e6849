// The global batches of a run, from any step on, in an order that depends on the settings alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "data/packer.h"
#include "task/task.h"

namespace bertrain {

struct TrainingStreamOptions {
  std::string split = "train";
  int64_t batch_size = 32;
  int64_t shuffle_buffer = 10000;  // 1: no shuffle, of files neither
  uint64_t seed = 0;               // each pass has an order of its own
  // Where a pass ends inside a batch: false, the batch goes on with the next pass (repeat, then
  // batch: Google's order); true, the batch ends there, smaller than the others, so that a pass is
  // ⌈count / batch_size⌉ steps.
  bool cut_at_pass_ends = false;
  double silence = 3;  // seconds before a start says how far it has read forward
  PackOptions pack;
};

// The same examples, but next() and skip() throw Stopped once a signal asked to leave: a large batch
// takes long to put together, and records are read to be skipped. `on_read` hears of what is passed over or
// given, a few hundred examples at a time.
ExampleStream stoppable(ExampleStream examples,
                        std::function<void(uint64_t examples)> on_read = {});

// Examples of the split, as far as `most`; reads them, as a stoppable() stream, and says what it counts
// them for where that takes long ("the records of an epoch").
uint64_t count_examples(const Task& task, std::string_view split, uint64_t most,
                        std::string_view what);

// The batch of step `first_step`, of the next one, … without end, packed by a thread of their own.
// The same batches whether the stream began at step 0 or not. Reading forward to a later step may
// throw Stopped, and is said where it takes long.
BatchStream training_batches(const Task& task, const TrainingStreamOptions& options,
                             uint64_t first_step);

}  // namespace bertrain
