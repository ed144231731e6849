// A recording: nodes in a valid run order, each an op applied to earlier values, with named inputs
// and outputs.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/array.h"
#include "tensor/tensor.h"

namespace bertrain {

using Attr = std::variant<int64_t, double, std::vector<int64_t>>;
using Attrs = Named<Attr>;

// One constant per op, in its own file of tensor/ops. An op is three functions and a name:
// everything else (gradients, printing, lowering, parity tests, bench) walks the table in
// tensor/ops/op_table.h.
struct Op {
  std::string_view name;  // "layer_norm"
  // result types; throws Error at the line that records
  std::vector<ArrayType> (*infer)(const Node&);
  // the same values in simpler ops, one per output; null = primitive
  Tensors (*expand)(const Node&);
  // d loss / d input for each input, given the node's outputs and d loss / d output (absent Tensor
  // = zero, in both directions). null = through expand (a primitive without grad has no gradient:
  // integers, comparisons).
  Tensors (*grad)(const Node&, const Tensors& y, const Tensors& dy);
  // A gradient may be f32 where its value is bf16 (weights). It is rounded to the value's dtype
  // before `grad` sees it, unless the op says that it takes it as it is.
  bool wide_gradient = false;
};

// replicate: equal on every replica; split: this replica's part
enum class Placement : uint8_t { replicate, split };

// One of the turns of a body that is recorded again and again: what a backend may run as a loop.
struct Turn {
  std::string loop;     // "bert/encoder", its backward pass "gradient/bert/encoder"; empty: none
  int64_t number = -1;  // of the layer, whatever the order that turns run in
  bool operator==(const Turn&) const = default;
};

struct Node {
  const Op* op = nullptr;  // kInput, kConstant (tensor/graph.cpp) or an op of the table
  Tensors inputs;          // absent optional inputs are empty Tensors
  Attrs attrs;
  std::vector<ArrayType> outputs;
  std::string scope;  // "bert/encoder/layer_3/attention": for errors and print
  std::string name;   // of an input
  Placement placement = Placement::replicate;  // of an input
  Array value;                                 // of a constant
  int64_t id = 0;                              // position in Graph::nodes()
  int64_t body = -1;  // nodes of one number are recorded again in the backward pass (repeat)
  Turn turn;          // that the node was recorded in
  Graph* graph = nullptr;

  // throws a std::logic_error if absent or of another kind
  int64_t integer(std::string_view attr) const;
  double real(std::string_view attr) const;
  const std::vector<int64_t>& list(std::string_view attr) const;
};

extern const Op kInput, kConstant;

struct Output {
  std::string name;
  Tensor value;
  Placement placement = Placement::replicate;
};

class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  Tensor input(std::string name, ArrayType type, Placement placement = Placement::replicate);
  Tensor constant(Array value);
  // infers types; throws Error naming op, scope, shapes
  Tensors apply(const Op& op, Tensors inputs, Attrs attrs = {});
  // Named like an input: the output replaces it after the run and takes its memory.
  void output(std::string name, Tensor value, Placement placement = Placement::replicate);

  std::span<Node* const> nodes() const;  // recording order, a valid run order
  std::span<const Output> outputs() const;
  Tensor find_input(std::string_view name) const;  // absent Tensor if there is none

  // The scope given to nodes recorded from now on; returns the one before.
  std::string enter(std::string scope);
  // The number of the body that nodes recorded from now on belong to, −1: none; returns the one
  // before. The backward pass keeps only what enters a body, and records the body again.
  int64_t enter_body(int64_t body);
  // The turn that nodes recorded from now on belong to; returns the one before.
  Turn enter_turn(Turn turn);
  const Turn& turn() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What is recorded while it lives belongs to that turn.
class TurnGuard {
 public:
  TurnGuard(Graph& graph, Turn turn) : graph_(graph), before_(graph.enter_turn(std::move(turn))) {}
  ~TurnGuard() { graph_.enter_turn(std::move(before_)); }
  TurnGuard(const TurnGuard&) = delete;
  TurnGuard& operator=(const TurnGuard&) = delete;

 private:
  Graph& graph_;
  Turn before_;
};

// The turn of what a turn's pass ("gradient", "update") does for it.
Turn pass_of(std::string_view pass, const Turn& turn);

// d loss / d wrt for a scalar loss, in the order of wrt; `wrt` may be any values of the graph
// (parameters, or intermediate ones such as gathered embedding rows). A value that the loss does
// not depend on gives zeros. The gradient of a bf16 value may be f32 (weights: straight out of the
// matmul).
Tensors gradients(Tensor loss, const Tensors& wrt);

// The same program with every op that `keep` refuses replaced by its expansion, again and again;
// nodes that no output needs are left out. Primitives always stay.
Graph expand(const Graph& graph, const std::function<bool(const Node&)>& keep);

// one line a node: "%12 = layer_norm(%3, %10, %11) {epsilon=1e-12} : f32 [2, 8]  # scope"
std::string print(const Graph& graph);

}  // namespace bertrain
