// The object graph of TensorFlow 2 checkpoints: which object holds which variable under which name,
// and where the variable's values are. Message TrackableObjectGraph; docs/formats/tf_bundle.md.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

struct ObjectGraph {
  struct Child {
    std::string name;  // "layer_with_weights-0", "kernel"
    size_t node;
  };
  struct Slot {
    size_t variable, value;  // nodes
    std::string name;        // "m", "v"
  };
  struct Node {
    std::vector<Child> children;
    // Of a variable: the key of its values in the bundle, and its name in the program.
    std::optional<std::string> key;
    std::string full_name;
    std::vector<Slot> slots;  // of an optimizer

    std::optional<size_t> child(std::string_view name) const;
  };
  std::vector<Node> nodes;  // the root first; never none

  // From `node` to its child by the first name, on to that one's by the second, and so on.
  std::optional<size_t> find(size_t node, std::initializer_list<std::string_view> names) const;
};

// Throws Error for what is malformed, for nodes that are not there, and where there is not even a root.
ObjectGraph parse_object_graph(std::string_view message);
std::string message_of(const ObjectGraph& graph);

// A name as it stands in keys: "." and "/" of it are written ".." and ".S".
std::string escaped_name(std::string_view name);

inline constexpr std::string_view kObjectGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";
inline constexpr std::string_view kVariableSuffix = "/.ATTRIBUTES/VARIABLE_VALUE";

}  // namespace bertrain
