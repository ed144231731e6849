// Recording of nodes: inputs, constants, ops applied to earlier values, outputs.
#include "tensor/graph.h"

#include "base/error.h"

namespace bertrain {
namespace {

std::vector<ArrayType> type_is_given(const Node& node) { return node.outputs; }

template <class T>
const T& attribute(const Node& node, std::string_view name, std::string_view kind) {
  auto found = node.attrs.find(name);
  check(found != node.attrs.end() && std::holds_alternative<T>(found->second),
        fmt::format("{} has no {} attribute '{}'", node.op->name, kind, name));
  return std::get<T>(found->second);
}

std::string types_of(const Tensors& inputs) {
  std::string text;
  for (const Tensor& t : inputs) {
    text += (text.empty() ? "" : ", ") + (t ? to_string(t.type()) : std::string("absent"));
  }
  return text;
}

}  // namespace

const Op kInput{"input", type_is_given, nullptr, nullptr};
const Op kConstant{"constant", type_is_given, nullptr, nullptr};

int64_t Node::integer(std::string_view attr) const {
  return attribute<int64_t>(*this, attr, "integer");
}
double Node::real(std::string_view attr) const { return attribute<double>(*this, attr, "real"); }
const std::vector<int64_t>& Node::list(std::string_view attr) const {
  return attribute<std::vector<int64_t>>(*this, attr, "list");
}

struct Graph::State {
  std::deque<Node> storage;  // addresses stay as it grows
  std::vector<Node*> nodes;
  std::vector<Output> outputs;
  Named<Node*> inputs;
  std::string scope;
  int64_t body = -1;
  Turn turn;

  Node* append(Node node, Graph* graph) {
    node.id = static_cast<int64_t>(nodes.size());
    node.graph = graph;
    node.scope = scope;
    node.body = body;
    node.turn = turn;
    nodes.push_back(&storage.emplace_back(std::move(node)));
    return nodes.back();
  }
};

Graph::Graph() : state_(std::make_unique<State>()) {}
Graph::~Graph() = default;

Graph::Graph(Graph&& other) noexcept : state_(std::move(other.state_)) {
  if (state_) {
    for (Node* node : state_->nodes) node->graph = this;
  }
}

Graph& Graph::operator=(Graph&& other) noexcept {
  state_ = std::move(other.state_);
  if (state_) {
    for (Node* node : state_->nodes) node->graph = this;
  }
  return *this;
}

Tensor Graph::input(std::string name, ArrayType type, Placement placement) {
  if (state_->inputs.contains(name)) throw error("the graph already has an input '{}'", name);
  elements(type.shape);  // throws when it has no size
  Node node;
  node.op = &kInput;
  node.outputs = {std::move(type)};
  node.name = name;
  node.placement = placement;
  Node* made = state_->append(std::move(node), this);
  state_->inputs.emplace(std::move(name), made);
  return Tensor(made, 0);
}

Tensor Graph::constant(Array value) {
  Node node;
  node.op = &kConstant;
  node.outputs = {value.type};
  node.value = std::move(value);
  return Tensor(state_->append(std::move(node), this), 0);
}

Tensors Graph::apply(const Op& op, Tensors inputs, Attrs attrs) {
  for (const Tensor& t : inputs) {
    check(!t || &t.graph() == this, fmt::format("{} mixes values of two graphs", op.name));
  }
  Node node;
  node.op = &op;
  node.inputs = std::move(inputs);
  node.attrs = std::move(attrs);
  node.graph = this;
  try {
    node.outputs = op.infer(node);
    for (const ArrayType& type : node.outputs) elements(type.shape);
  } catch (const Error& e) {
    throw error("{}{}{}({}): {}", state_->scope, state_->scope.empty() ? "" : ": ", op.name,
                types_of(node.inputs), e.what());
  }
  Node* made = state_->append(std::move(node), this);
  Tensors results;
  for (size_t i = 0; i < made->outputs.size(); ++i) results.emplace_back(made, static_cast<int>(i));
  return results;
}

void Graph::output(std::string name, Tensor value, Placement placement) {
  check(value && &value.graph() == this, fmt::format("output '{}' is of another graph", name));
  for (const Output& other : state_->outputs) {
    if (other.name == name) throw error("the graph already has an output '{}'", name);
  }
  if (Tensor replaced = find_input(name); replaced && replaced.type() != value.type()) {
    throw error("output '{}' is {}, but the input it replaces is {}", name, to_string(value.type()),
                to_string(replaced.type()));
  }
  state_->outputs.push_back({std::move(name), value, placement});
}

std::span<Node* const> Graph::nodes() const { return state_->nodes; }
std::span<const Output> Graph::outputs() const { return state_->outputs; }

Tensor Graph::find_input(std::string_view name) const {
  auto found = state_->inputs.find(name);
  return found == state_->inputs.end() ? Tensor() : Tensor(found->second, 0);
}

std::string Graph::enter(std::string scope) {
  return std::exchange(state_->scope, std::move(scope));
}

int64_t Graph::enter_body(int64_t body) { return std::exchange(state_->body, body); }
Turn Graph::enter_turn(Turn turn) { return std::exchange(state_->turn, std::move(turn)); }
Turn pass_of(std::string_view pass, const Turn& turn) {
  if (turn.loop.empty()) return {};
  return {fmt::format("{}/{}", pass, turn.loop), turn.number};
}
const Turn& Graph::turn() const { return state_->turn; }

}  // namespace bertrain
