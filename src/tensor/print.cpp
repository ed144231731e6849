// A recording as text, one line a node, for people and for tests.
#include "base/error.h"
#include "tensor/graph.h"

namespace bertrain {
namespace {

std::string name_of(Tensor t) {
  if (!t) return "-";
  std::string name = "%" + std::to_string(t.node()->id);
  return t.node()->outputs.size() > 1 ? name + "." + std::to_string(t.output()) : name;
}

std::string name_of(const Attr& attr) {
  if (const auto* i = std::get_if<int64_t>(&attr)) return std::to_string(*i);
  if (const auto* d = std::get_if<double>(&attr)) return fmt::format("{}", *d);
  return to_string(std::get<std::vector<int64_t>>(attr));
}

template <class Items, class Text>
std::string join(const Items& items, Text text) {
  std::string all;
  for (const auto& item : items) all += (all.empty() ? "" : ", ") + text(item);
  return all;
}

}  // namespace

std::string print(const Graph& graph) {
  std::string text;
  for (const Node* node : graph.nodes()) {
    text += fmt::format("%{} = {}", node->id, node->op->name);
    if (node->op == &kInput) {
      text += fmt::format(" '{}'", node->name);
    } else if (node->op != &kConstant) {
      text += "(" + join(node->inputs, [](Tensor t) { return name_of(t); }) + ")";
    }
    if (!node->attrs.empty()) {
      text += " {" +
              join(node->attrs, [](const auto& a) { return a.first + "=" + name_of(a.second); }) +
              "}";
    }
    text += " : " + join(node->outputs, [](const ArrayType& t) { return to_string(t); });
    if (!node->scope.empty()) text += "  # " + node->scope;
    text += "\n";
  }
  for (const Output& output : graph.outputs()) {
    text += fmt::format("output '{}' = {}\n", output.name, name_of(output.value));
  }
  return text;
}

}  // namespace bertrain
