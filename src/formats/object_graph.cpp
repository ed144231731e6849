// TrackableObjectGraph from and to its message.
#include "formats/object_graph.h"

#include <algorithm>

#include "base/error.h"
#include "formats/wire.h"

namespace bertrain {
namespace {

constexpr uint32_t kNodes = 1;
constexpr uint32_t kChildren = 1, kAttributes = 2, kSlotVariables = 3;  // of a node
constexpr uint32_t kChildNode = 1, kChildName = 2;
constexpr uint32_t kAttributeName = 1, kFullName = 2, kCheckpointKey = 3;
constexpr uint32_t kSlotVariable = 1, kSlotName = 2, kSlotValue = 3;
constexpr std::string_view kVariableValue = "VARIABLE_VALUE";

ObjectGraph::Child parse_child(WireReader m) {
  ObjectGraph::Child child{};
  while (m.next()) {
    if (m.field() == kChildNode) child.node = m.varint();
    if (m.field() == kChildName) child.name = m.text();
  }
  return child;
}

// Attributes of other names (tables, strings) are no tensors of numbers.
void parse_attribute(WireReader m, ObjectGraph::Node& node) {
  std::string name, full_name, key;
  while (m.next()) {
    if (m.field() == kAttributeName) name = m.text();
    if (m.field() == kFullName) full_name = m.text();
    if (m.field() == kCheckpointKey) key = m.text();
  }
  if (name != kVariableValue) return;
  node.key = std::move(key);
  node.full_name = std::move(full_name);
}

ObjectGraph::Slot parse_slot(WireReader m) {
  ObjectGraph::Slot slot{};
  while (m.next()) {
    if (m.field() == kSlotVariable) slot.variable = m.varint();
    if (m.field() == kSlotName) slot.name = m.text();
    if (m.field() == kSlotValue) slot.value = m.varint();
  }
  return slot;
}

ObjectGraph::Node parse_node(WireReader m) {
  ObjectGraph::Node node;
  while (m.next()) {
    if (m.field() == kChildren) node.children.push_back(parse_child(WireReader(m.bytes())));
    if (m.field() == kAttributes) parse_attribute(WireReader(m.bytes()), node);
    if (m.field() == kSlotVariables) node.slots.push_back(parse_slot(WireReader(m.bytes())));
  }
  return node;
}

void check_nodes(const ObjectGraph& graph) {
  const auto require = [&](size_t node) {
    if (node >= graph.nodes.size()) {
      throw error("object {} of {} is referred to", node, graph.nodes.size());
    }
  };
  for (const ObjectGraph::Node& node : graph.nodes) {
    for (const auto& child : node.children) require(child.node);
    for (const auto& slot : node.slots) require(slot.variable), require(slot.value);
  }
}

std::string message_of(const ObjectGraph::Node& node) {
  WireWriter message;
  for (const auto& child : node.children) {
    WireWriter m;
    if (child.node != 0) m.varint(kChildNode, child.node);
    m.bytes(kChildName, child.name);
    message.bytes(kChildren, m.message());
  }
  if (node.key) {
    WireWriter m;
    m.bytes(kAttributeName, kVariableValue);
    m.bytes(kFullName, node.full_name);
    m.bytes(kCheckpointKey, *node.key);
    message.bytes(kAttributes, m.message());
  }
  for (const auto& slot : node.slots) {
    WireWriter m;
    if (slot.variable != 0) m.varint(kSlotVariable, slot.variable);
    m.bytes(kSlotName, slot.name);
    if (slot.value != 0) m.varint(kSlotValue, slot.value);
    message.bytes(kSlotVariables, m.message());
  }
  return message.message();
}

}  // namespace

std::optional<size_t> ObjectGraph::Node::child(std::string_view name) const {
  auto found = std::find_if(children.begin(), children.end(),
                            [&](const Child& child) { return child.name == name; });
  if (found == children.end()) return std::nullopt;
  return found->node;
}

std::optional<size_t> ObjectGraph::find(size_t node,
                                        std::initializer_list<std::string_view> names) const {
  std::optional<size_t> at = node;
  for (std::string_view name : names) {
    if (at) at = nodes[*at].child(name);
  }
  return at;
}

ObjectGraph parse_object_graph(std::string_view message) {
  ObjectGraph graph;
  WireReader m(message);
  while (m.next()) {
    if (m.field() == kNodes) graph.nodes.push_back(parse_node(WireReader(m.bytes())));
  }
  if (graph.nodes.empty()) throw error("no objects are in it, not even a root");
  check_nodes(graph);
  return graph;
}

std::string message_of(const ObjectGraph& graph) {
  WireWriter message;
  for (const ObjectGraph::Node& node : graph.nodes) message.bytes(kNodes, message_of(node));
  return message.message();
}

std::string escaped_name(std::string_view name) {
  std::string text;
  for (char c : name) {
    if (c == '.') {
      text += "..";
    } else if (c == '/') {
      text += ".S";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace bertrain
