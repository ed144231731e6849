// Finds the loops in a recording: turns of one body that were recorded one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/graph.h"

namespace bertrain {

// Where the body's copy in one turn takes an input from.
struct Source {
  enum Kind : uint8_t {
    absent,
    inside,     // `output` of the body's node `index`
    constant,   // a constant of the same value in each turn: node `constant`
    invariant,  // Loop::invariants[index]
    carried,    // what the turn before left: Loop::carried[index]
    stacked,    // another value in each turn: Loop::stacked[index]
  } kind = absent;
  size_t index = 0;
  int output = 0;
  const Node* constant_node = nullptr;
};

struct Carried {
  Tensor first;  // for the turn that runs first
  size_t node = 0;
  int output = 0;  // what the body leaves to the turn after it
};

struct Loop {
  // turns[i][j]: node j of the body in turn i; turns lie by their number (the layer), ascending.
  std::vector<std::vector<Node*>> turns;
  bool backwards = false;                    // the last one runs first
  std::vector<std::vector<Source>> sources;  // of the body's nodes
  Tensors invariants;
  std::vector<Carried> carried;
  std::vector<Tensors> stacked;  // [i]: a value for each turn, by number

  size_t count() const { return turns.size(); }
  // The turns in the order that they run in: number of the i-th.
  size_t running(size_t i) const { return backwards ? count() - 1 - i : i; }
};

// A program in an order that can run: one node, or a loop.
struct Item {
  Node* node = nullptr;
  size_t loop = 0;  // of Rolled::loops, where node is null
};

struct Rolled {
  std::vector<Loop> loops;
  std::vector<Item> items;  // inputs and constants are not among them
  // By node id: the loop that the node is part of, −1: none; its turn, and its place in the body.
  std::vector<int64_t> loop_of, turn_of, place_of;
};

// Turns of one loop that are not alike (the first or last layer may differ) stay nodes of their own,
// as do loops of fewer than `least` turns that are. What no output needs is left out.
Rolled roll(const Graph& graph, size_t least);

}  // namespace bertrain
