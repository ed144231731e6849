// The factor of clipping by the global norm.
#include "optim/clip.h"

#include <limits>

#include "tensor/ops/ops.h"

namespace bertrain {

Tensor clip_scale(Tensor norm, double clip_norm) {
  Graph& graph = norm.graph();
  // x − x is 0 for every finite x and NaN for the rest.
  Tensor finite = compare(norm - norm, full(graph, {}, 0), Compare::equal);
  Tensor scale = full(graph, {}, 1);
  if (clip_norm > 0) {
    Tensor limit = full(graph, {}, clip_norm);
    scale = limit / maximum(norm, limit);
  }
  return select(finite, scale, full(graph, {}, std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace bertrain
