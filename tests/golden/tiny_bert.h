// The tiny BERT of tests/data/tf1_*: its batch in any layout of the packer, and the reference's
// numbers for the program's own tasks.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "model/config.h"
#include "optim/adamw.h"
#include "task/task.h"
#include "train/state.h"
#include "train/step.h"

namespace bertrain {

// The backends that every golden number is compared on.
struct NamedBackend {
  std::string name;
  std::function<std::unique_ptr<Backend>()> make;  // gives null: there is no plugin here
  bool is_plugin() const { return name.starts_with("plugin"); }
};
inline constexpr const char* kNoPlugin =
    "BERTRAIN_CPU_PLUGIN names no plugin for the CPU (./dev plugin cpu)";
inline void PrintTo(const NamedBackend& backend, std::ostream* out) { *out << backend.name; }
std::vector<NamedBackend> golden_backends();
// A plugin for the CPU, if there is one: with the two layers as they are, and as a loop.
std::vector<NamedBackend> plugin_backends();
std::vector<NamedBackend> golden_and_plugin_backends();
std::unique_ptr<Backend> plugin_with(int devices);  // null: there is no plugin here

std::string golden_path(const std::string& name);  // in tests/data

inline constexpr int64_t kGoldenExamples = 6, kGoldenLength = 24;

// One of the two reference runs: "tf1_pretrain" or "tf1_classify".
struct Golden {
  explicit Golden(const std::string& name);

  std::string name;
  BertConfig config;
  std::unique_ptr<CheckpointReader> forward, gradients, init, trained;
  Json trajectory;
  Schedule schedule;

  bool pretrains() const { return name == "tf1_pretrain"; }
  Array array(std::string_view tensor) const { return forward->read(tensor); }
  // The program's task as the reference was run; dropout as in `config`.
  std::unique_ptr<Task> task() const;
  std::vector<Example> examples() const;  // for the packer: as the task itself reads them
  StepOptions step_options() const;
};

// How examples are packed into one micro-batch.
struct Layout {
  bool padded = false;  // each example fills all its positions; else only real slots are there
  int64_t rows = 1;     // R
  int64_t filling = 0;  // extra empty slots per row, examples and targets
  int64_t first = 0;    // example to start with
  int64_t count = -1;   // examples; −1: all that follow
};
Batch pack_one(const Task& task, std::span<const Example> examples, const Layout& layout);
Batch make_batch(const Golden& golden, const Layout& layout);  // of the golden's examples

// Micro-batches of the given numbers of examples.
std::vector<Batch> split_examples(const Task& task, std::span<const Example> examples,
                                  const std::vector<int64_t>& counts, int64_t filling = 0);
std::vector<Batch> split_batch(const Golden& golden, const std::vector<int64_t>& counts,
                               int64_t filling = 0);

// A fresh state from the golden's first weights.
std::unique_ptr<State> make_state(const Golden& golden, const Task& task, Backend& backend,
                                  const Optimizer* optimizer = nullptr);

// d loss / d parameter of one batch, by parameter, through a micro-batch program.
Named<Array> gradients_of(const Golden& golden, const Task& task, const State& state,
                          const StepOptions& options, const Batch& batch);

bool is_key_bias(std::string_view name);  // its gradient is 0, what is stored is rounding noise

// The largest difference, absolute or as a part of the largest entry of `want`.
double difference(const Array& got, const Array& want);
double relative_difference(const Array& got, const Array& want);

}  // namespace bertrain
