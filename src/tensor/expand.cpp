// Replaces ops by their expansions until only those are left that the caller keeps.
#include <map>

#include "base/error.h"
#include "tensor/graph.h"
#include "tensor/scope.h"

namespace bertrain {
namespace {

std::vector<bool> needed(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size(), false);
  for (const Output& output : graph.outputs()) {
    live[static_cast<size_t>(output.value.node()->id)] = true;
  }
  for (size_t i = live.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (Tensor t : graph.nodes()[i]->inputs) {
      if (t) live[static_cast<size_t>(t.node()->id)] = true;
    }
  }
  return live;
}

// One round: every refused op gives way to its expansion, which may hold refused ops itself.
Graph expand_once(const Graph& from, const std::function<bool(const Node&)>& keep, bool& changed) {
  Graph to;
  std::vector<bool> live = needed(from);
  std::vector<Tensors> made(from.nodes().size());  // by id in `from`
  auto moved = [&](Tensor t) {
    return t ? made[static_cast<size_t>(t.node()->id)][static_cast<size_t>(t.output())] : t;
  };
  for (const Node* node : from.nodes()) {
    Tensors& results = made[static_cast<size_t>(node->id)];
    // An input stays even if nothing reads it: the caller will give it.
    if (node->op == &kInput) {
      results = {to.input(node->name, node->outputs[0], node->placement)};
      continue;
    }
    if (!live[static_cast<size_t>(node->id)]) continue;
    Scope::Guard guard(to, node->scope);
    TurnGuard turn(to, node->turn);
    if (node->op == &kConstant) {
      results = {to.constant(node->value)};
      continue;
    }
    Node copy = *node;
    copy.graph = &to;
    for (Tensor& t : copy.inputs) t = moved(t);
    if (!node->op->expand || keep(copy)) {
      results = to.apply(*node->op, std::move(copy.inputs), std::move(copy.attrs));
      continue;
    }
    changed = true;
    results = node->op->expand(copy);
    check(results.size() == node->outputs.size(),
          fmt::format("{} expands into {} values", node->op->name, results.size()));
    for (size_t i = 0; i < results.size(); ++i) {
      check(results[i].type() == node->outputs[i],
            fmt::format("{} expands into {} for output {}, which is {}", node->op->name,
                        to_string(results[i].type()), i, to_string(node->outputs[i])));
    }
  }
  for (const Output& output : from.outputs()) {
    to.output(output.name, moved(output.value), output.placement);
  }
  return to;
}

}  // namespace

Graph expand(const Graph& graph, const std::function<bool(const Node&)>& keep) {
  bool changed = false;
  Graph result = expand_once(graph, keep, changed);
  while (changed) {
    changed = false;
    result = expand_once(result, keep, changed);
  }
  return result;
}

}  // namespace bertrain
