// Which values of a program share one memory: views, updates in place, outputs that replace inputs.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/graph.h"

namespace bertrain {

// Every (node, output) is a value; values that share memory have one root, itself a value.
class ValueLayout {
 public:
  explicit ValueLayout(const Graph& graph);

  struct Root {
    size_t bytes = 0;
    // node ids: made, last read (nodes().size() for what a program returns)
    int64_t first = 0, last = 0;
    const Node* input = nullptr;  // lies in the memory of this graph input
    const Node* constant = nullptr;
    int output = -1;  // lies in the memory of this output (index in Graph::outputs)
  };

  int value_count() const { return static_cast<int>(root_.size()); }
  int value(const Node* node, int output) const {
    return base_[static_cast<size_t>(node->id)] + output;
  }
  int root_of(int value) const;
  const Root& root(int root) const { return roots_[static_cast<size_t>(root)]; }
  // For output i: the input that it replaces (null: none), and whether it is made in the memory that it will own (the
  // donor's or new) or copied there at the end.
  const Node* donor(size_t i) const { return donors_[i]; }
  bool made_in_place(size_t i) const { return in_place_[i]; }

 private:
  void find_lifetimes(const Graph& graph);
  void share_views_and_updates(const Graph& graph);
  void place_outputs(const Graph& graph);
  void join(int kept, int given_up);
  bool overwrites(const Node& node, int output, int root) const;

  std::vector<int> base_, root_;
  std::vector<Root> roots_;
  std::vector<const Node*> donors_;
  std::vector<bool> in_place_;
};

bool is_view(const Node& node);  // reshape, barrier: the same bytes

}  // namespace bertrain
