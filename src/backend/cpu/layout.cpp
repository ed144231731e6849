// Lifetimes, then unions: views with what they view, outputs in place with the input they replace.
#include "backend/cpu/layout.h"

#include <algorithm>

#include "backend/cpu/lowering.h"
#include "base/error.h"
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

size_t bytes_of(const ArrayType& type) {
  return static_cast<size_t>(elements(type.shape)) * size_of(type.dtype);
}

bool may_take(const Lowering& lowering, int output, size_t input) {
  return std::count(lowering.in_place.begin(), lowering.in_place.end(),
                    std::pair<int, int>(output, static_cast<int>(input))) > 0;
}

}  // namespace

bool is_view(const Node& node) { return node.op == &kReshape || node.op == &kBarrier; }

ValueLayout::ValueLayout(const Graph& graph) {
  find_lifetimes(graph);
  share_views_and_updates(graph);
  place_outputs(graph);
}

int ValueLayout::root_of(int value) const {
  while (root_[static_cast<size_t>(value)] != value) value = root_[static_cast<size_t>(value)];
  return value;
}

void ValueLayout::find_lifetimes(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    base_.push_back(static_cast<int>(roots_.size()));
    for (const ArrayType& type : node->outputs) {
      Root root{bytes_of(type), node->id, node->id};
      if (node->op == &kInput) root.input = node;
      if (node->op == &kConstant) root.constant = node;
      root_.push_back(static_cast<int>(roots_.size()));
      roots_.push_back(root);
    }
    for (Tensor t : node->inputs) {
      if (t) roots_[static_cast<size_t>(value(t.node(), t.output()))].last = node->id;
    }
  }
  for (const Output& o : graph.outputs()) {
    roots_[static_cast<size_t>(value(o.value.node(), o.value.output()))].last =
        static_cast<int64_t>(graph.nodes().size());
  }
}

// Whether the node may write its output over the memory of that root: it reads it, and only where the kernel allows.
bool ValueLayout::overwrites(const Node& node, int output, int root) const {
  const Lowering* lowering = find_lowering(node);
  if (!lowering || is_view(node)) return false;
  bool reads = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    Tensor x = node.inputs[i];
    if (!x || root_of(value(x.node(), x.output())) != root) continue;
    if (!may_take(*lowering, output, i)) return false;
    reads = true;
  }
  return reads;
}

void ValueLayout::join(int kept, int given_up) {
  Root& k = roots_[static_cast<size_t>(kept)];
  const Root& g = roots_[static_cast<size_t>(given_up)];
  k.last = std::max(k.last, g.last);
  root_[static_cast<size_t>(given_up)] = kept;
}

void ValueLayout::share_views_and_updates(const Graph& graph) {
  // Views first, so that the lifetime of what they view is known before anything is overwritten.
  for (const Node* node : graph.nodes()) {
    if (!is_view(*node)) continue;
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      Tensor x = node->inputs[i];
      join(root_of(value(x.node(), x.output())), value(node, static_cast<int>(i)));
    }
  }
  for (const Node* node : graph.nodes()) {
    const Lowering* lowering = find_lowering(*node);
    if (!lowering || is_view(*node)) continue;
    std::vector<int> taken;
    for (auto [output, input] : lowering->in_place) {
      if (input >= static_cast<int>(node->inputs.size()) ||
          !node->inputs[static_cast<size_t>(input)])
        continue;
      Tensor x = node->inputs[static_cast<size_t>(input)];
      int from = root_of(value(x.node(), x.output())), to = value(node, output);
      const Root& dying = roots_[static_cast<size_t>(from)];
      bool free = !dying.input && !dying.constant && dying.last == node->id &&
                  dying.bytes == roots_[static_cast<size_t>(to)].bytes &&
                  overwrites(*node, output, from);
      if (!free || root_of(to) != to || std::count(taken.begin(), taken.end(), from)) continue;
      taken.push_back(from);
      join(from, to);
    }
  }
}

// An output is made straight in the memory that it will own, where nothing else of it is needed by then.
void ValueLayout::place_outputs(const Graph& graph) {
  donors_.assign(graph.outputs().size(), nullptr);
  in_place_.assign(graph.outputs().size(), false);
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Output& o = graph.outputs()[i];
    int made = root_of(value(o.value.node(), o.value.output()));
    Root& root = roots_[static_cast<size_t>(made)];
    Tensor donor = graph.find_input(o.name);
    if (donor) {
      check(donor.type() == o.value.type(),
            fmt::format("output '{}' is {}, the input of that name {}", o.name,
                        to_string(o.value.type()), to_string(donor.type())));
      donors_[i] = donor.node();
    }
    if (root.input || root.constant || root.output >= 0) continue;  // copied at the end
    if (!donor) {
      if (root.bytes != bytes_of(o.value.type())) continue;
      root.output = static_cast<int>(i);
      in_place_[i] = true;
      continue;
    }
    int given = value(donor.node(), 0);
    int64_t last = roots_[static_cast<size_t>(given)].last;
    const Node& maker = *graph.nodes()[static_cast<size_t>(root.first)];
    if (last < root.first ||
        (last == root.first && overwrites(maker, made - value(&maker, 0), given))) {
      root.output = static_cast<int>(i);
      in_place_[i] = true;
    }
  }
}

}  // namespace bertrain
