// One primitive as a line of StableHLO.
#pragma once

#include "backend/stablehlo/text.h"
#include "tensor/graph.h"

namespace bertrain {

struct Emission {
  Text& text;
  int64_t replicas = 1;
  // > 0: every value has an axis of that extent before its own, and the line works on all of them
  // at once.
  int64_t lead = 0;

  ArrayType lifted(const ArrayType& type) const;  // with that axis
};

// The node's outputs for its present inputs. Throws a std::logic_error for a composite that is not
// emitted whole.
ValueList emit_node(const Emission& emission, const Node& node, const ValueList& inputs);

// Whether emit_node takes the op with a leading axis.
bool can_be_lifted(const Op& op);

}  // namespace bertrain
