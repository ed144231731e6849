// The shapes of a run's programs: as much of a batch at once as memory allows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked_json.h"
#include "data/packer.h"
#include "data/placement/capacity_choice.h"
#include "task/task.h"
#include "train/step.h"

namespace bertrain {

struct CapacityChoice {
  int64_t batch_size = 32;
  int64_t accumulate = 0;   // a batch runs in this many parts at least; 0: as few as memory allows
  uint64_t memory = 0;      // bytes that a step may take on one replica; 0: no limit
  bool of_device = false;   // which has that memory for itself
  uint64_t slot_bytes = 0;  // of the optimizer of a training under way, beside an evaluation
  int64_t padded_length = 0;  // see PackOptions
};

// For training steps: the examples of `split` are sampled, and if the peak of the largest program
// would not fit in memory, or the backend cannot compile it for want of memory, batches are cut into
// parts that do. A warning is logged where there are fewer examples than replicas. Throws a usage
// error that names the bytes needed when not even one example fits.
std::vector<Capacity> training_capacities(const Task& task, const Backend& backend,
                                          StepRunner& runner, std::string_view split,
                                          const CapacityChoice& choice);

// The same for evaluation, which keeps nothing for a backward pass. An empty split is not sampled.
std::vector<Capacity> evaluation_capacities(const Task& task, const Backend& backend,
                                            EvaluationRunner& runner, std::string_view split,
                                            const CapacityChoice& choice);

// Why a run that goes on cannot keep the largest of its capacities: its steps need more memory than
// there is, or a backend cannot compile them for want of it; "" if it can. What was chosen where
// memory is just enough for one example may be a little beyond it.
std::string beyond_memory(StepRunner& runner, const Capacity& kept, int64_t replicas,
                          const CapacityChoice& choice);

// Peak bytes of the program for a capacity; `parts`: the batch does not fit in one. Throws an Error
// that lacks memory where such a program cannot be compiled.
using PeakOf = std::function<uint64_t(const Capacity& capacity, bool parts)>;

// What the above are made of: capacities for the needs, such that no peak is beyond choice.memory.
std::vector<Capacity> fitting_capacities(CapacityNeeds needs, const CapacityChoice& choice,
                                         const PeakOf& peak_of);

struct BatchMemory {
  std::string_view flag;       // of the batch size
  bool one_pass = false;       // no batch holds more than a pass over the split
  int64_t shuffle_buffer = 1;  // examples that are shuffled at a time
};

// A usage error that names the flag and the bytes unless the batches that wait in memory, and the
// examples that wait to be shuffled, fit in choice.memory by themselves (or in 64 MiB, where that is
// less: then what a step needs decides): by a sample of `split`, and, where that is not enough, by
// counting examples as far as memory reaches (which may throw Stopped). Returns the bytes that wait
// to be shuffled; 0 where they are few.
uint64_t require_batch_memory(const Task& task, std::string_view split,
                              const CapacityChoice& choice, const BatchMemory& batch);

// [[rows, slots, examples, targets], …], for run.json. What cannot be capacities of a task whose
// examples have up to `longest` slots is an Error that names file and key.
Json to_json(const std::vector<Capacity>& capacities);
std::vector<Capacity> capacities_from_json(const JsonValue& json, int64_t longest);

}  // namespace bertrain
