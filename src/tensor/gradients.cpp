// Reverse-mode differentiation of a recording: one walk backwards that knows no op by name.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/rules.h"
#include "tensor/scope.h"

namespace bertrain {
namespace {

struct ByPlace {  // recording order: sums have a fixed order, whatever the addresses
  bool operator()(const Tensor& a, const Tensor& b) const {
    return std::pair(a.node()->id, a.output()) < std::pair(b.node()->id, b.output());
  }
};
using Slopes = std::map<Tensor, Tensor, ByPlace>;  // value → d loss / d value

Tensors outputs_of(Node& node) {
  Tensors all;
  for (size_t i = 0; i < node.outputs.size(); ++i) all.emplace_back(&node, static_cast<int>(i));
  return all;
}

void accumulate(Slopes& slopes, Tensor value, Tensor slope) {
  check(slope.shape() == value.shape(),
        fmt::format("gradient {} of a value {}", to_string(slope.type()), to_string(value.type())));
  Tensor& sum = slopes[value];
  if (!sum) {
    sum = slope;
  } else if (sum.dtype() == slope.dtype()) {
    sum = sum + slope;
  } else {
    sum = convert(sum, DType::f32) + convert(slope, DType::f32);
  }
}

class Backward {
 public:
  // For values recorded in [first, end) of the graph.
  Backward(Graph& graph, int64_t first, const Tensors& wrt)
      : graph_(graph), first_(first), end_(static_cast<int64_t>(graph.nodes().size())) {
    for (Tensor t : wrt) depends_.emplace(t, true);
    for (int64_t id = first_; id < end_; ++id) {
      Node* node = graph.nodes()[static_cast<size_t>(id)];
      bool any = false;
      for (Tensor t : node->inputs) any = any || depends(t);
      for (Tensor t : outputs_of(*node)) {
        if (any && is_float(t.dtype())) depends_.emplace(t, true);
      }
    }
  }

  // `slopes` holds the seeds, and afterwards those of everything that leads from wrt to them.
  void walk(Slopes& slopes) {
    for (int64_t id = end_; id-- > first_;) {
      Node& node = *graph_.nodes()[static_cast<size_t>(id)];
      Tensors dy;
      bool any = false;
      for (Tensor y : outputs_of(node)) {
        auto found = slopes.find(y);
        dy.push_back(found == slopes.end() ? Tensor() : found->second);
        any = any || (dy.back() && depends(y));
      }
      if (!any || node.inputs.empty()) continue;
      Scope::Guard guard(graph_, "gradient/" + node.scope);
      // Inside an expansion the turn is that of the composite, which is entered already.
      TurnGuard turn(graph_,
                     graph_.turn().loop.empty() ? pass_of("gradient", node.turn) : graph_.turn());
      Node& source = node.body < 0 ? node : recorded_again(node, dy);
      Tensors dx = differentiate(source, dy);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (dx[i] && depends(node.inputs[i])) accumulate(slopes, node.inputs[i], dx[i]);
      }
    }
  }

 private:
  bool depends(Tensor t) const { return t && depends_.contains(t); }

  Tensors differentiate(Node& node, Tensors dy) {
    Tensors y = outputs_of(node);
    for (size_t i = 0; i < y.size() && !node.op->wide_gradient; ++i) {
      if (dy[i]) dy[i] = convert(dy[i], y[i].dtype());
    }
    Tensors dx(node.inputs.size());
    if (node.op->grad) {
      dx = node.op->grad(node, y, dy);
      check(dx.size() == node.inputs.size(),
            fmt::format("{} gives {} gradients", node.op->name, dx.size()));
    } else if (node.op->expand) {
      int64_t first = static_cast<int64_t>(graph_.nodes().size());
      Tensors simpler = node.op->expand(node);
      Slopes slopes;
      for (size_t i = 0; i < y.size(); ++i) {
        if (dy[i]) accumulate(slopes, simpler[i], dy[i]);
      }
      Tensors present;
      for (Tensor t : node.inputs) {
        if (t) present.push_back(t);
      }
      Backward(graph_, first, present).walk(slopes);
      // A value given twice has one gradient, which is told once.
      for (size_t i = 0; i < dx.size(); ++i) {
        Tensor t = node.inputs[i];
        bool told = std::find(node.inputs.begin(), node.inputs.begin() + static_cast<long>(i), t) !=
                    node.inputs.begin() + static_cast<long>(i);
        if (auto found = t ? slopes.find(t) : slopes.end(); found != slopes.end() && !told) {
          dx[i] = found->second;
        }
      }
    }
    return dx;
  }

  // The node's copy in its body recorded again. The copies take what enters the body through a
  // barrier together with the gradient, so that nothing of them can run before the gradient is
  // there, or be taken for the values of the forward pass.
  Node& recorded_again(Node& node, Tensors& dy) {
    if (node.body != body_) {
      body_ = node.body;
      copies_.clear();
      std::vector<Node*> body;
      Tensors entering;
      for (int64_t id = first_; id <= node.id; ++id) {
        Node* n = graph_.nodes()[static_cast<size_t>(id)];
        if (n->body != body_ || n->op == &kInput || n->op == &kConstant) continue;
        body.push_back(n);
        for (Tensor t : n->inputs) {
          if (t && t.node()->body != body_ && t.node()->op != &kInput &&
              t.node()->op != &kConstant && copies_.emplace(t, Tensor()).second) {
            entering.push_back(t);
          }
        }
      }
      size_t values = entering.size();
      for (Tensor t : dy) {
        if (t) entering.push_back(t);
      }
      Tensors behind = barrier(entering);
      for (size_t i = 0; i < values; ++i) copies_[entering[i]] = behind[i];
      for (Tensor& t : dy) {
        if (t) t = behind[values++];
      }
      for (Node* n : body) {
        Tensors inputs = n->inputs;
        for (Tensor& t : inputs) {
          if (auto copy = t ? copies_.find(t) : copies_.end(); copy != copies_.end()) {
            t = copy->second;
          }
        }
        Scope::Guard guard(graph_, "gradient/" + n->scope);
        Tensors again = graph_.apply(*n->op, inputs, n->attrs);
        for (size_t i = 0; i < again.size(); ++i) {
          copies_[Tensor(n, static_cast<int>(i))] = again[i];
        }
      }
    }
    return *copies_.at(Tensor(&node, 0)).node();
  }

  Graph& graph_;
  int64_t first_, end_;
  std::map<Tensor, bool, ByPlace> depends_;
  int64_t body_ = -1;  // the one whose copies are at hand
  std::map<Tensor, Tensor, ByPlace> copies_;
};

}  // namespace

Tensors gradients(Tensor loss, const Tensors& wrt) {
  if (loss.rank() != 0 || loss.dtype() != DType::f32) {
    throw error("gradients need a loss of f32 [], not {}", to_string(loss.type()));
  }
  Graph& graph = loss.graph();
  Slopes slopes;
  slopes[loss] = full(graph, {}, 1);
  Backward(graph, 0, wrt).walk(slopes);
  Tensors all;
  for (Tensor t : wrt) {
    auto found = slopes.find(t);
    all.push_back(found != slopes.end() ? found->second : full(graph, t.shape(), 0, t.dtype()));
  }
  return all;
}

}  // namespace bertrain
