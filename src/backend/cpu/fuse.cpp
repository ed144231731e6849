// The patterns, found by looking back from each node at those that only it reads.
#include "backend/cpu/fuse.h"

#include <algorithm>
#include <optional>

#include "tensor/ops/op_table.h"
#include "tensor/scope.h"

namespace bertrain {
namespace {

std::vector<ArrayType> type_of_attrs(const Node& node) {
  return {{static_cast<DType>(node.integer("dtype")), node.list("shape")}};
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
    for (const Node* node : from.nodes()) {
      for (Tensor t : node->inputs) count(t, &Reads::by_nodes);
    }
    for (const Output& o : from.outputs()) count(o.value, &Reads::by_outputs);
  }

  Graph run() {
    for (const Node* node : from_.nodes()) {
      if (!is_last(*node)) move(*node);
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

  void move(const Node& node) {
    Scope::Guard guard(to_, node.scope);
    made_[static_cast<size_t>(node.id)] = remake(node);
  }

  Tensors remake(const Node& node) {
    if (node.op == &kInput) return {to_.input(node.name, node.outputs[0], node.placement)};
    if (node.op == &kConstant) return {to_.constant(node.value)};
    if (node.op == &kAdd) {
      if (Tensor joined = join(node)) return {joined};
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
  std::vector<Tensors> made_;              // by id in from_
  std::vector<std::vector<Reads>> reads_;  // by id and output
};

}  // namespace

extern const Op kProduct{"product", type_of_attrs, nullptr, nullptr};
extern const Op kScatterRows{"scatter_rows", type_of_attrs, nullptr, nullptr};

Graph fuse(const Graph& expanded) { return Fuser(expanded).run(); }

}  // namespace bertrain
