// The host's side of training steps and of evaluation: programs compiled once for each capacity, run
// many times.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "task/task.h"
#include "train/record.h"
#include "train/state.h"

namespace bertrain {

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

// A recording, its inputs, and what the backend made of it (nothing yet: null).
struct Compiled {
  std::unique_ptr<Recording> recording;
  Named<ArrayType> inputs;              // beside those of the state
  std::vector<std::string> from_state;  // the other inputs
  std::unique_ptr<Program> program;
};

// All that a step takes beside the state, on its way to the devices.
struct SentStep {
  uint64_t step = 0;
  std::vector<Batch> micro;          // without their arrays
  std::vector<DeviceArrays> groups;  // inputs of one program each: batch, keys, scalars
  DeviceArrays apply;                // of the program that applies the sums of several
};

// Training steps on a state: compiles the programs that it meets, fills in keys and
// scalars, accumulates, applies.
class StepRunner {
 public:
  // All must outlive the runner. communicator: null for one process. `distributed` is set where there
  // are several ranks or replicas.
  StepRunner(const Task& task, State& state, StepOptions options,
             Communicator* communicator = nullptr);

  // Sends what the update from `step` to `step` + 1 takes: one global batch, given as its
  // micro-batches, which the backend's replicas run in groups of so many (one group at least; of
  // equal number on every rank). May be called while another step runs.
  SentStep send(uint64_t step, std::vector<Batch> micro);

  // Starts that update, and finish() waits for what became of it; between the two the state is that
  // of neither step. With one group a single program does all; with more, gradients are summed
  // first. When a program is interrupted before its update, start() throws and the state is as it was.
  void start(const SentStep& sent);
  StepResult finish();
  StepResult run(uint64_t step, const std::vector<Batch>& micro);  // all three

  // Compiles without running, to learn what is needed: by a whole step, or by one micro-batch of
  // several.
  ProgramFacts facts(const Capacity& capacity, bool accumulates);

  // Bytes of one replica's memory that training takes while that program runs: its own peak, and
  // beside a micro-batch the optimizer's slots.
  uint64_t peak(const Capacity& capacity, bool accumulates);
  uint64_t inputs(const Capacity& capacity, bool accumulates);  // of those; known before compiling
  uint64_t slots_beside(bool accumulates) const;                // of those

  const Task& task() const { return task_; }
  const StepOptions& options() const { return options_; }

 private:
  enum class Kind : int64_t { step, micro, apply };
  Compiled& recorded(Kind kind, const Capacity& capacity);
  Compiled& compiled(Kind kind, const Capacity& capacity);
  void send_constants(const Compiled& program, uint64_t step, DeviceArrays& sent,
                      DeviceArrays& inputs);
  DeviceArrays run(const Compiled& program, DeviceArrays inputs);
  DeviceArrays run_groups(const SentStep& sent);

  const Task& task_;
  State& state_;
  StepOptions options_;
  Communicator* communicator_;
  std::vector<LossTerm> terms_;
  std::map<std::vector<int64_t>, Compiled> programs_;
  DeviceArrays sums_;     // zero between steps
  DeviceArrays results_;  // of the step that was started
  float rate_ = 0;        // its rate
};

// Losses and predictions of batches with the state's parameters; dropout is off.
class EvaluationRunner {
 public:
  EvaluationRunner(const Task& task, const State& state, DType compute = DType::f32);

  struct Result {
    Named<Array> losses;       // by term, un-reduced, f32 [E] or [M]
    Named<Array> predictions;  // by name
  };
  // Of as many micro-batches as the backend has replicas, of one capacity: a result for each.
  std::vector<Result> run(std::span<const Batch> group);
  int replicas() const { return state_.backend().replicas(); }
  ProgramFacts facts(const Capacity& capacity);

 private:
  Compiled& compiled(const Capacity& capacity);

  const Task& task_;
  const State& state_;
  DType compute_;
  std::map<std::vector<int64_t>, Compiled> programs_;
};

}  // namespace bertrain
