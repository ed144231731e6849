// What a program does, counted where a plugin's compiler cannot.
#pragma once

#include "backend/backend.h"
#include "backend/stablehlo/module.h"

namespace bertrain {

// XLA's count of operations and traffic takes the body of a loop once, however often it runs, and
// some plugins count nothing. So operations are those of the recording, in which every turn has its
// nodes, and traffic is the compiler's where nothing loops, else not known.
class Counts {
 public:
  Counts(const Graph& graph, const Module& module);  // of one replica
  ProgramFacts in(ProgramFacts facts) const;

 private:
  double flops_ = 0;
  bool loops_ = false;
};

}  // namespace bertrain
