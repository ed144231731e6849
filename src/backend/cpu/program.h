// A compiled program: prepared calls in order, over one arena of planned memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/cpu_array.h"
#include "backend/cpu/layout.h"
#include "backend/cpu/lowering.h"

namespace bertrain {

struct RunContext {
  int threads = 1;
  Communicator* communicator = nullptr;  // null: one process
  std::function<void()>
      between_calls;                  // may throw while nothing given was overwritten; may be empty
  std::shared_ptr<HugeBuffer> arena;  // one for a backend, as large as its largest program needs
};

class CpuProgram : public Program {
 public:
  CpuProgram(Graph expanded, RunContext context);
  DeviceArrays run(DeviceArrays inputs) override { return run(std::move(inputs), nullptr); }
  ProgramFacts facts() const override { return facts_; }
  Named<double> profile(DeviceArrays inputs) override;

 private:
  struct Step {
    const Node* node;
    Call call;
    int starts = -1;         // the exchange of this step's result
    std::vector<int> needs;  // exchanges that must be over before it
  };
  struct Exchange {  // a value summed over processes, while the steps go on
    int value;
    size_t count;
    bool awaited = false;  // some step waits for it; else the end of the run does
  };
  struct Made {  // an output of the program
    std::string name;
    ArrayType type;
    int value;      // its root
    int donor;      // index of the input that it replaces; −1: none
    bool in_place;  // made where it will live
  };
  struct Place {         // where a root lies: one of the four
    int64_t arena = -1;  // offset
    int given = -1;      // the memory of this input
    int made = -1;       // new memory of this output
    const std::byte* constant = nullptr;
  };

  void prepare_calls(const ValueLayout& layout);
  void place_roots(const ValueLayout& layout);
  void note_needs(const Binding& binding);
  DeviceArrays run(DeviceArrays inputs, Named<double>* seconds);
  void run_steps(const Addresses& addresses, Named<double>* seconds);
  std::vector<CpuArray*> bind(const DeviceArrays& inputs) const;

  Graph graph_;
  RunContext context_;
  std::vector<Step> steps_;
  std::vector<Exchange> exchanges_;
  std::vector<const Node*> given_;  // the graph's inputs
  std::vector<Made> made_;
  std::vector<int> root_;      // of each value
  std::vector<Place> places_;  // of each root
  size_t arena_bytes_ = 0;
  size_t first_overwrite_ = 0;  // the first step that writes into an input's memory
  ProgramFacts facts_;
};

}  // namespace bertrain
