// Which values of a rolled program lie together as one array with an axis for the layers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/stablehlo/roll.h"

namespace bertrain {

// A value in each turn of a loop, by number: an output of the body, or what a carried value was
// when the turn began. Where something reads it later it becomes an array [turns, ...].
struct Sequence {
  size_t loop = 0;
  bool entering = false;  // of carried value `node`, when the turn began
  size_t node = 0;
  int output = 0;
  Tensors values;
};

// Inputs of the program that are given as one array, in that order.
using InputGroup = std::vector<const Node*>;

// Values first … first + n − 1 of a stack.
struct StackPart {
  enum Kind : uint8_t { group, sequence, gathered } kind = gathered;
  size_t index = 0;  // of the group or sequence
  size_t first = 0;
  Tensors values;  // the values, where they have to be gathered one by one
};

class Stacks {
 public:
  explicit Stacks(const Rolled& rolled);

  const std::vector<InputGroup>& groups() const { return groups_; }
  const std::vector<Sequence>& sequences() const { return sequences_; }
  // The group and place of an input; nothing where it is given alone.
  std::optional<std::pair<size_t, size_t>> group_of(const Node& input) const;

  // Where these values lie, one after the other.
  StackPart find(const Tensors& values) const;
  // The sequence of a body's output, and the turn, for a value inside a loop.
  std::pair<size_t, size_t> sequence_of(Tensor value) const;
  // The carried value of its loop whose last state `value` is.
  std::optional<size_t> final_carried(Tensor value) const;

 private:
  void find_groups(const Rolled& rolled);
  void find_sequences(const Rolled& rolled);

  struct ByPlace {
    bool operator()(const Tensor& a, const Tensor& b) const {
      return std::pair(a.node()->id, a.output()) < std::pair(b.node()->id, b.output());
    }
  };

  const Rolled& rolled_;
  std::vector<InputGroup> groups_;
  std::map<const Node*, std::pair<size_t, size_t>> group_of_;
  std::vector<Sequence> sequences_;
  std::multimap<Tensor, std::pair<size_t, size_t>, ByPlace>
      in_sequences_;                                             // value → sequence, turn
  std::map<Tensor, std::pair<size_t, size_t>, ByPlace> result_;  // of a body's output
};

}  // namespace bertrain
