// Adds up the nodes of a recording.
#include "backend/plugin/counts.h"

#include "tensor/ops/ops.h"

namespace bertrain {

Counts::Counts(const Graph& graph, const Module& module)
    : loops_(module.text.find("stablehlo.while") != std::string::npos) {
  for (const Node* node : graph.nodes()) flops_ += operations_of(*node);
}

ProgramFacts Counts::in(ProgramFacts facts) const {
  facts.flops = flops_;
  if (loops_) facts.bytes = 0;
  return facts;
}

}  // namespace bertrain
