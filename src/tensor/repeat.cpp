// The encoder's loop: the same layer under numbered scopes, each body marked where the backward
// pass is to record it again.
#include "base/error.h"
#include "tensor/scope.h"

namespace bertrain {
namespace {

// Marks what is recorded while it lives as one body; inside another body that one stands, as the
// backward pass records it again whole.
class BodyGuard {
 public:
  explicit BodyGuard(Graph& graph) : graph_(graph), before_(graph.enter_body(next(graph))) {
    if (before_ >= 0) graph_.enter_body(before_);
  }
  ~BodyGuard() { graph_.enter_body(before_); }
  BodyGuard(const BodyGuard&) = delete;
  BodyGuard& operator=(const BodyGuard&) = delete;

 private:
  static int64_t next(const Graph& graph) { return static_cast<int64_t>(graph.nodes().size()); }
  Graph& graph_;
  int64_t before_;
};

}  // namespace

Tensor repeat(const Scope& scope, int count, Tensor x,
              const std::function<Tensor(const Scope&, Tensor)>& layer, bool recompute) {
  for (int i = 0; i < count; ++i) {
    Scope inner = scope / fmt::format("layer_{}", i);
    std::optional<BodyGuard> body;
    if (recompute) body.emplace(scope.graph());
    TurnGuard turn(scope.graph(), {scope.path(), i});
    Tensor y = layer(inner, x);
    if (y.type() != x.type()) {
      throw error("{}: a repeated layer must keep its type: {} became {}", inner.path(),
                  to_string(x.type()), to_string(y.type()));
    }
    x = y;
  }
  return x;
}

}  // namespace bertrain
