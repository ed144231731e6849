// The patterns, found by looking back from each node at those that only it reads.
#include "backend/cpu/fuse.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tensor/ops/op_table.h"
#include "tensor/scope.h"

namespace bertrain {
namespace {

std::vector<ArrayType> type_of_attrs(const Node& node) {
  return {{static_cast<DType>(node.integer("dtype")), node.list("shape")}};
}

std::vector<ArrayType> cross_entropy_types(const Node& node) {
  const ArrayType logits = node.inputs[0].type();
  const Shape rows = {logits.shape[0]};
  return {{DType::f32, rows},
          {DType::f32, rows},
          {DType::i32, rows},
          {static_cast<DType>(node.integer("dtype")), logits.shape}};
}

bool is_product(Tensor t) { return t.node()->op == &kLinear || t.node()->op == &kMatmul; }

// The one element of a value that is the same everywhere.
std::optional<Array> uniform(Tensor value) {
  const Node* node = value.node();
  while (node->op == &kBroadcast || node->op == &kReshape) node = node->inputs[0].node();
  if (node->op != &kConstant || node->value.size() != 1) return std::nullopt;
  return node->value;
}

bool is_zero(Tensor value) {
  const std::optional<Array> element = uniform(value);
  return element && std::all_of(element->raw().begin(), element->raw().end(),
                                [](std::byte b) { return b == std::byte{0}; });
}

// The f32 value that a bf16 value was converted from, else the value itself.
Tensor before_rounding(Tensor t) {
  const Node& n = *t.node();
  const bool rounds =
      n.op == &kConvert && t.dtype() == DType::bf16 && n.inputs[0].dtype() == DType::f32;
  return rounds ? n.inputs[0] : t;
}

// x of a vector [N] repeated over the rows of [M, N]; absent if t is something else.
Tensor repeated_row(Tensor t) {
  const Node& n = *t.node();
  if (n.op != &kBroadcast || t.rank() != 2) return {};
  const Tensor x = n.inputs[0];
  const bool row = x.rank() == 1 && n.list("axes") == std::vector<int64_t>{1} &&
                   x.extent(0) == t.extent(1) && x.dtype() == DType::f32;
  return row ? x : Tensor();
}

class Fuser {
 public:
  explicit Fuser(const Graph& from) : from_(from), made_(from.nodes().size()) {
    for (const Node* node : from.nodes()) reads_.emplace_back(node->outputs.size());
    sums_of_.resize(from.nodes().size());
    for (const Node* node : from.nodes()) {
      for (Tensor t : node->inputs) count(t, &Reads::by_nodes);
      if (node->op == &kAllReduceSum) {
        sums_of_[static_cast<size_t>(node->inputs[0].node()->id)].push_back(node);
      }
    }
    for (const Output& o : from.outputs()) count(o.value, &Reads::by_outputs);
    find_losses();
  }

  Graph run() {
    for (const Node* node : from_.nodes()) {
      if (!is_last(*node)) move_in_turn(*node);
    }
    for (const Node* node : from_.nodes()) {
      if (is_last(*node)) move(*node);
    }
    for (const Output& o : from_.outputs()) to_.output(o.name, moved(o.value), o.placement);
    // Once more, without what nothing reads any longer.
    return expand(to_, [](const Node&) { return true; });
  }

 private:
  struct Reads {
    int by_nodes = 0, by_outputs = 0;
  };

  void count(Tensor t, int Reads::*who) {
    if (t) ++(reads_[static_cast<size_t>(t.node()->id)][static_cast<size_t>(t.output())].*who);
  }
  const Reads& reads(Tensor t) const {
    return reads_[static_cast<size_t>(t.node()->id)][static_cast<size_t>(t.output())];
  }
  bool is_single(Tensor t) const { return reads(t).by_nodes == 1 && reads(t).by_outputs == 0; }
  bool is_last(const Node& node) const {
    const Tensor value(const_cast<Node*>(&node), 0);
    return node.op == &kBroadcast && reads(value).by_nodes == 0 && uniform(value);
  }
  Tensor moved(Tensor t) const {
    return t ? made_[static_cast<size_t>(t.node()->id)][static_cast<size_t>(t.output())] : t;
  }

  // Pairs of a loss and its gradient. The loss then waits for the gradient, and what needs the loss
  // waits with it; so what the gradient needs must not be among that.
  void find_losses() {
    std::vector<bool> waits(from_.nodes().size(), false);
    for (const Node* node : from_.nodes()) {
      const auto id = static_cast<size_t>(node->id);
      for (Tensor t : node->inputs) {
        waits[id] = waits[id] || (t && waits[static_cast<size_t>(t.node()->id)]);
      }
      if (node->op == &kSoftmaxCrossEntropy) waits[id] = true;
      if (node->op != &kSoftmaxCrossEntropyGrad) continue;
      const Node* loss = node->inputs[2].node();
      const bool pair = loss->op == &kSoftmaxCrossEntropy && node->inputs[2].output() == 1 &&
                        loss->inputs[0] == node->inputs[0] && loss->inputs[1] == node->inputs[1];
      const bool free = !waits[static_cast<size_t>(node->inputs[0].node()->id)] &&
                        !waits[static_cast<size_t>(node->inputs[3].node()->id)];
      if (pair && free) gradient_of_[loss] = node, loss_of_[node] = loss;
    }
  }

  // In recorded order, but what needs a loss that is not there yet comes after its gradient.
  void move_in_turn(const Node& node) {
    if (gradient_of_.contains(&node) || node.op == &kAllReduceSum) return;
    if (!is_ready(node)) {
      waiting_.push_back(&node);
      return;
    }
    move(node);
    if (!loss_of_.contains(&node)) return;
    std::vector<const Node*> still;
    for (const Node* other : waiting_) {
      is_ready(*other) ? move(*other) : still.push_back(other);
    }
    waiting_ = std::move(still);
  }
  bool is_ready(const Node& node) const {
    if (loss_of_.contains(&node)) return true;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](Tensor t) {
      return !t || !made_[static_cast<size_t>(t.node()->id)].empty();
    });
  }

  // The gradient of logits in bf16, where nothing needs more.
  DType slope_dtype(const Node& gradient) const {
    const Tensor value(const_cast<Node*>(&gradient), 0);
    int rounded = 0;
    for (const Node* node : from_.nodes()) {
      for (Tensor t : node->inputs) {
        if (t != value) continue;
        if (node->op == &kConvert && node->outputs[0].dtype == DType::bf16) ++rounded;
        if (node->op != &kConvert && node->op != &kReduceSum) return value.dtype();
      }
    }
    return rounded > 0 && reads(value).by_outputs == 0 ? DType::bf16 : value.dtype();
  }

  Tensors loss_with_gradient(const Node& gradient) {
    const Node& loss = *loss_of_.at(&gradient);
    Tensors all =
        to_.apply(kCrossEntropyWithGrad,
                  {moved(loss.inputs[0]), moved(loss.inputs[1]), moved(gradient.inputs[3])},
                  {{"dtype", static_cast<int64_t>(slope_dtype(gradient))}});
    made_[static_cast<size_t>(loss.id)] = {all[0], all[1], all[2]};
    return {all[3]};
  }

  void move(const Node& node) {
    Scope::Guard guard(to_, node.scope);
    made_[static_cast<size_t>(node.id)] = remake(node);
    // Sums over processes start as soon as there is something to send.
    for (const Node* sum : sums_of_[static_cast<size_t>(node.id)]) move(*sum);
  }

  Tensors remake(const Node& node) {
    if (node.op == &kInput) return {to_.input(node.name, node.outputs[0], node.placement)};
    if (node.op == &kConstant) return {to_.constant(node.value)};
    if (node.op == &kAdd) {
      if (Tensor joined = join(node)) return {joined};
    }
    if (loss_of_.contains(&node)) return loss_with_gradient(node);
    if (node.op == &kConvert && moved(node.inputs[0]).type() == node.outputs[0]) {
      return {moved(node.inputs[0])};
    }
    const Tensor value(const_cast<Node*>(&node), 0);
    if (is_product(value)) return {product(value, {}, {}, node.outputs[0])};
    if (node.op == &kScatterAddRows && is_scatter_into_zeros(value)) {
      return to_.apply(kScatterRows, {moved(node.inputs[1]), moved(node.inputs[2])},
                       {{"dtype", static_cast<int64_t>(DType::f32)}, {"shape", value.shape()}});
    }
    Tensors inputs;
    for (Tensor t : node.inputs) inputs.push_back(moved(t));
    return to_.apply(*node.op, std::move(inputs), node.attrs);
  }

  bool is_scatter_into_zeros(Tensor t) const {
    const Node& n = *t.node();
    return n.op == &kScatterAddRows && t.dtype() == DType::f32 && is_zero(n.inputs[0]);
  }

  Tensor product(Tensor of, Tensor bias, Tensor into, const ArrayType& result) {
    const Node& n = *of.node();
    const bool linear = n.op == &kLinear;
    if (linear && n.inputs[2]) bias = n.inputs[2];
    const bool ta = !linear && n.integer("transpose_a") != 0;
    const bool tb = n.integer(linear ? "transpose_w" : "transpose_b") != 0;
    return to_.apply(
        kProduct,
        {moved(n.inputs[0]), moved(before_rounding(n.inputs[1])), moved(bias), moved(into)},
        {{"transpose_a", int64_t{ta}},
         {"transpose_b", int64_t{tb}},
         {"compute", static_cast<int64_t>(n.inputs[0].dtype())},
         {"dtype", static_cast<int64_t>(result.dtype)},
         {"shape", result.shape}})[0];
  }

  // The call that a sum becomes part of; absent if it stays a sum.
  Tensor join(const Node& add) {
    if (add.outputs[0].dtype != DType::f32) return {};
    for (size_t i = 0; i < 2; ++i) {
      const Tensor part = add.inputs[i], other = add.inputs[1 - i];
      if (!is_single(part) || !is_scatter_into_zeros(part)) continue;
      const Node& n = *part.node();
      return to_.apply(kScatterAddRows, {moved(other), moved(n.inputs[1]), moved(n.inputs[2])})[0];
    }
    // The product that was recorded last, so that another one can be what it starts from.
    Tensor last, start;
    for (size_t i = 0; i < 2; ++i) {
      const Tensor part = add.inputs[i];
      if (!is_product(part) || !is_single(part) || part.dtype() != DType::f32) continue;
      if (!last || part.node()->id > last.node()->id) last = part, start = add.inputs[1 - i];
    }
    if (!last) return {};
    const bool has_bias = last.node()->op == &kLinear && last.node()->inputs[2];
    const Tensor row = has_bias ? Tensor() : repeated_row(start);
    return product(last, row, row ? Tensor() : start, add.outputs[0]);
  }

  const Graph& from_;
  Graph to_;
  std::map<const Node*, const Node*> gradient_of_, loss_of_;  // the two halves of each pair
  std::vector<const Node*> waiting_;
  std::vector<std::vector<const Node*>> sums_of_;  // by id: all_reduce_sum of that node's values
  std::vector<Tensors> made_;                      // by id in from_
  std::vector<std::vector<Reads>> reads_;          // by id and output
};

}  // namespace

extern const Op kProduct{"product", type_of_attrs, nullptr, nullptr};
extern const Op kScatterRows{"scatter_rows", type_of_attrs, nullptr, nullptr};
extern const Op kCrossEntropyWithGrad{"cross_entropy_with_grad", cross_entropy_types, nullptr,
                                      nullptr};

Graph fuse(const Graph& expanded) { return Fuser(expanded).run(); }

}  // namespace bertrain
