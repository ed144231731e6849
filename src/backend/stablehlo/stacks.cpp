// Groups of inputs, and the values that a loop's turns make.
#include "backend/stablehlo/stacks.h"

#include <algorithm>

#include "base/error.h"

namespace bertrain {

Stacks::Stacks(const Rolled& rolled) : rolled_(rolled) {
  find_groups(rolled);
  find_sequences(rolled);
}

// The longest lists of inputs first: shorter ones are parts of them, or are gathered at run time.
void Stacks::find_groups(const Rolled& rolled) {
  std::vector<Tensors> lists;
  for (const Loop& loop : rolled.loops) {
    for (const Tensors& values : loop.stacked) {
      bool inputs = std::all_of(values.begin(), values.end(),
                                [](Tensor t) { return t.node()->op == &kInput; });
      if (inputs) lists.push_back(values);
    }
  }
  std::stable_sort(lists.begin(), lists.end(),
                   [](const Tensors& a, const Tensors& b) { return a.size() > b.size(); });
  for (const Tensors& values : lists) {
    bool free = std::none_of(values.begin(), values.end(),
                             [&](Tensor t) { return group_of_.contains(t.node()); });
    bool alike = std::all_of(values.begin(), values.end(), [&](Tensor t) {
      return t.node()->placement == Placement::replicate && t.type() == values[0].type();
    });
    if (!free || !alike) continue;
    InputGroup group;
    for (Tensor t : values) {
      // The same input twice is no group.
      if (!group_of_.emplace(t.node(), std::pair(groups_.size(), group.size())).second) break;
      group.push_back(t.node());
    }
    if (group.size() == values.size()) {
      groups_.push_back(std::move(group));
    } else {
      for (const Node* node : group) group_of_.erase(node);
    }
  }
}

void Stacks::find_sequences(const Rolled& rolled) {
  for (size_t l = 0; l < rolled.loops.size(); ++l) {
    const Loop& loop = rolled.loops[l];
    for (size_t j = 0; j < loop.turns[0].size(); ++j) {
      for (size_t o = 0; o < loop.turns[0][j]->outputs.size(); ++o) {
        Sequence s{l, false, j, static_cast<int>(o), {}};
        for (size_t i = 0; i < loop.count(); ++i) {
          s.values.emplace_back(loop.turns[i][j], static_cast<int>(o));
          result_.emplace(s.values.back(), std::pair(sequences_.size(), i));
        }
        sequences_.push_back(std::move(s));
      }
    }
    for (size_t c = 0; c < loop.carried.size(); ++c) {
      const Carried& carried = loop.carried[c];
      Sequence s{l, true, c, 0, Tensors(loop.count())};
      for (size_t i = 0; i < loop.count(); ++i) {
        s.values[loop.running(i)] =
            i == 0 ? carried.first
                   : Tensor(loop.turns[loop.running(i - 1)][carried.node], carried.output);
      }
      sequences_.push_back(std::move(s));
    }
  }
  for (size_t s = 0; s < sequences_.size(); ++s) {
    const Tensors& values = sequences_[s].values;
    for (size_t i = 0; i < values.size(); ++i) in_sequences_.emplace(values[i], std::pair(s, i));
  }
}

std::optional<std::pair<size_t, size_t>> Stacks::group_of(const Node& input) const {
  auto found = group_of_.find(&input);
  if (found == group_of_.end()) return std::nullopt;
  return found->second;
}

StackPart Stacks::find(const Tensors& values) const {
  auto continues = [&](size_t first, size_t size, auto at) {
    if (first + values.size() > size) return false;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!(at(first + i) == values[i])) return false;
    }
    return true;
  };
  if (auto place = group_of(*values[0].node())) {
    const InputGroup& group = groups_[place->first];
    auto at = [&](size_t i) { return Tensor(const_cast<Node*>(group[i]), 0); };
    if (continues(place->second, group.size(), at)) {
      return {StackPart::group, place->first, place->second, {}};
    }
  }
  auto [begin, end] = in_sequences_.equal_range(values[0]);
  for (auto it = begin; it != end; ++it) {
    const auto& [s, first] = it->second;
    const Tensors& all = sequences_[s].values;
    if (continues(first, all.size(), [&](size_t i) { return all[i]; })) {
      return {StackPart::sequence, s, first, {}};
    }
  }
  return {StackPart::gathered, 0, 0, values};
}

std::pair<size_t, size_t> Stacks::sequence_of(Tensor value) const { return result_.at(value); }

std::optional<size_t> Stacks::final_carried(Tensor value) const {
  size_t id = static_cast<size_t>(value.node()->id);
  const Loop& loop = rolled_.loops[static_cast<size_t>(rolled_.loop_of[id])];
  if (static_cast<size_t>(rolled_.turn_of[id]) != loop.running(loop.count() - 1)) {
    return std::nullopt;
  }
  for (size_t c = 0; c < loop.carried.size(); ++c) {
    if (loop.carried[c].node == static_cast<size_t>(rolled_.place_of[id]) &&
        loop.carried[c].output == value.output()) {
      return c;
    }
  }
  return std::nullopt;
}

}  // namespace bertrain
