// A recording as a StableHLO module that any PJRT plugin compiles, and how it is called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/graph.h"

namespace bertrain {

// An argument or result: one input or output of the graph, or several of one type (the layers' of a
// loop) as one array with an axis for them in front.
struct Slot {
  std::vector<std::string> names;
  bool stacked = false;
  ArrayType type;  // with that axis
  Placement placement = Placement::replicate;
  int64_t replaced_by = -1;  // of an argument: the result that takes its memory
};

struct Module {
  std::string text;
  std::vector<Slot> arguments, results;
};

struct ModuleOptions {
  int64_t replicas = 1;  // all_reduce_sum is over so many
  // Loops of fewer turns are unrolled (0: all are): a loop's body is compiled once, which only pays
  // for several.
  int64_t least_turns = 7;
};

// Whether the module has a line for the node as it is; other composites must be expanded.
bool is_emitted(const Node& node);

// Inputs that nothing reads are no arguments. One function @main; shapes are those of one replica.
Module emit_module(const Graph& graph, const ModuleOptions& options);

}  // namespace bertrain
