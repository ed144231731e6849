// Compares the turns of each loop node by node, and sorts what each of them takes from outside.
#include "backend/stablehlo/roll.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <queue>

#include "base/error.h"

namespace bertrain {
namespace {

size_t id_of(Tensor t) { return static_cast<size_t>(t.node()->id); }

bool same_value(const Array& a, const Array& b) {
  return a.type == b.type && (a.bytes == b.bytes || a.byte_size() == 0 ||
                              std::memcmp(a.bytes.get(), b.bytes.get(), a.byte_size()) == 0);
}

class Roller {
 public:
  Roller(const Graph& graph, size_t least) : graph_(graph), least_(std::max<size_t>(least, 2)) {
    size_t count = graph.nodes().size();
    result_.loop_of.assign(count, -1);
    result_.turn_of.assign(count, -1);
    result_.place_of.assign(count, -1);
    find_live();
  }

  Rolled run() {
    std::map<std::string, std::map<int64_t, std::vector<Node*>>> recorded;
    for (Node* node : graph_.nodes()) {
      if (!is_item(*node) || node->turn.loop.empty()) continue;
      recorded[node->turn.loop][node->turn.number].push_back(node);
    }
    for (auto& [name, turns] : recorded) find_loop(turns);
    // A loop that waits for itself through a node outside is none.
    while (!sort()) drop_one_waiting();
    return std::move(result_);
  }

 private:
  bool is_item(const Node& node) const {
    return live_[static_cast<size_t>(node.id)] && node.op != &kInput && node.op != &kConstant;
  }

  void find_live() {
    live_.assign(graph_.nodes().size(), false);
    for (const Output& output : graph_.outputs()) live_[id_of(output.value)] = true;
    for (size_t i = live_.size(); i-- > 0;) {
      if (!live_[i]) continue;
      for (Tensor t : graph_.nodes()[i]->inputs) {
        if (t) live_[id_of(t)] = true;
      }
    }
  }

  // The longest run of neighbouring turns that are alike and can be one body.
  void find_loop(std::map<int64_t, std::vector<Node*>>& recorded) {
    std::vector<std::vector<Node*>> turns;
    std::vector<int64_t> numbers;
    for (auto& [number, nodes] : recorded) {
      numbers.push_back(number);
      turns.push_back(std::move(nodes));
    }
    size_t best = 0, best_end = 0;
    for (size_t first = 0; first < turns.size();) {
      size_t end = first + 1;
      while (end < turns.size() && numbers[end] == numbers[end - 1] + 1 &&
             alike(turns[end - 1], turns[end])) {
        ++end;
      }
      if (end - first > best_end - best) {
        best = first;
        best_end = end;
      }
      first = end;
    }
    // The turn at either end may be alike and yet take its inputs from elsewhere.
    for (auto [first, end] : {std::pair{best, best_end},
                              {best + 1, best_end},
                              {best, best_end - 1},
                              {best + 1, best_end - 1}}) {
      if (end <= first || end - first < least_) continue;
      Loop loop;
      loop.turns.assign(turns.begin() + static_cast<long>(first),
                        turns.begin() + static_cast<long>(end));
      if (classify(loop)) {
        accept(std::move(loop));
        return;
      }
    }
  }

  // Where each node lies in the turn it is part of.
  static std::map<const Node*, size_t> places(const std::vector<Node*>& turn) {
    std::map<const Node*, size_t> at;
    for (size_t j = 0; j < turn.size(); ++j) at.emplace(turn[j], j);
    return at;
  }

  static bool alike(const std::vector<Node*>& a, const std::vector<Node*>& b) {
    if (a.size() != b.size()) return false;
    std::map<const Node*, size_t> in_a = places(a), in_b = places(b);
    for (size_t j = 0; j < a.size(); ++j) {
      const Node &x = *a[j], &y = *b[j];
      if (x.op != y.op || x.attrs != y.attrs || x.outputs != y.outputs ||
          x.inputs.size() != y.inputs.size()) {
        return false;
      }
      for (size_t k = 0; k < x.inputs.size(); ++k) {
        Tensor s = x.inputs[k], t = y.inputs[k];
        if (static_cast<bool>(s) != static_cast<bool>(t)) return false;
        if (!s) continue;
        auto from_a = in_a.find(s.node()), from_b = in_b.find(t.node());
        bool inside = from_a != in_a.end();
        if (s.type() != t.type() || inside != (from_b != in_b.end())) return false;
        if (inside && (from_a->second != from_b->second || s.output() != t.output())) return false;
      }
    }
    return true;
  }

  // Fills in what the loop takes from where; false where that cannot be said of every turn alike.
  bool classify(Loop& loop) {
    std::map<const Node*, std::pair<size_t, size_t>> members;  // turn, place
    for (size_t i = 0; i < loop.count(); ++i) {
      for (size_t j = 0; j < loop.turns[i].size(); ++j) members[loop.turns[i][j]] = {i, j};
    }
    loop.backwards = loop.turns.front()[0]->id > loop.turns.back()[0]->id;
    for (size_t j = 0; j < loop.turns[0].size(); ++j) {
      std::vector<Source> sources;
      for (size_t k = 0; k < loop.turns[0][j]->inputs.size(); ++k) {
        std::optional<Source> source = source_of(loop, members, j, k);
        if (!source) return false;
        sources.push_back(*source);
      }
      loop.sources.push_back(std::move(sources));
    }
    return true;
  }

  using Members = std::map<const Node*, std::pair<size_t, size_t>>;

  static std::optional<Source> source_of(Loop& loop, const Members& members, size_t j, size_t k) {
    Tensors given;  // by turn
    for (const auto& turn : loop.turns) given.push_back(turn[j]->inputs[k]);
    if (!given[0]) return Source{};
    auto at = [&](size_t turn) { return members.find(given[turn].node()); };
    if (auto own = at(0); own != members.end() && own->second.first == 0) {
      return Source{Source::inside, own->second.second, given[0].output(), nullptr};
    }
    bool equal = std::all_of(given.begin(), given.end(), [&](Tensor t) { return t == given[0]; });
    if (all_constants(given) && (equal || same_constants(given))) {
      return Source{Source::constant, 0, 0, given[0].node()};
    }
    if (equal) return Source{Source::invariant, index_in(loop.invariants, given[0]), 0, nullptr};

    size_t n = loop.count();
    if (at(loop.running(0)) != members.end()) return std::nullopt;
    auto second = at(loop.running(1));
    if (second == members.end()) {
      for (size_t i = 0; i < n; ++i) {
        if (at(i) != members.end()) return std::nullopt;
      }
      return Source{Source::stacked, index_in(loop.stacked, given), 0, nullptr};
    }
    Carried carried{given[loop.running(0)], second->second.second, given[loop.running(1)].output()};
    for (size_t i = 1; i < n; ++i) {
      auto found = at(loop.running(i));
      if (found == members.end() || found->second.first != loop.running(i - 1) ||
          found->second.second != carried.node ||
          given[loop.running(i)].output() != carried.output) {
        return std::nullopt;
      }
    }
    for (size_t i = 0; i < loop.carried.size(); ++i) {
      const Carried& known = loop.carried[i];
      if (known.first == carried.first && known.node == carried.node &&
          known.output == carried.output) {
        return Source{Source::carried, i, 0, nullptr};
      }
    }
    loop.carried.push_back(carried);
    return Source{Source::carried, loop.carried.size() - 1, 0, nullptr};
  }

  static bool all_constants(const Tensors& values) {
    return std::all_of(values.begin(), values.end(),
                       [](Tensor t) { return t.node()->op == &kConstant; });
  }

  static bool same_constants(const Tensors& values) {
    return std::all_of(values.begin(), values.end(), [&](Tensor t) {
      return same_value(t.node()->value, values[0].node()->value);
    });
  }

  template <class T>
  static size_t index_in(std::vector<T>& list, const T& item) {
    auto found = std::find(list.begin(), list.end(), item);
    if (found == list.end()) found = list.insert(list.end(), item);
    return static_cast<size_t>(found - list.begin());
  }

  void accept(Loop loop) {
    auto number = static_cast<int64_t>(result_.loops.size());
    for (size_t i = 0; i < loop.count(); ++i) {
      for (size_t j = 0; j < loop.turns[i].size(); ++j) {
        size_t id = static_cast<size_t>(loop.turns[i][j]->id);
        result_.loop_of[id] = number;
        result_.turn_of[id] = static_cast<int64_t>(i);
        result_.place_of[id] = static_cast<int64_t>(j);
      }
    }
    result_.loops.push_back(std::move(loop));
  }

  // Units are loops and the nodes outside them; a unit runs when all that it takes is there, the
  // one recorded first before others. False where some never can.
  bool sort() {
    size_t loops = result_.loops.size(), nodes = graph_.nodes().size();
    auto unit_of = [&](size_t id) {
      return result_.loop_of[id] >= 0 ? nodes + static_cast<size_t>(result_.loop_of[id]) : id;
    };
    std::vector<std::vector<size_t>> readers(nodes + loops);
    std::vector<size_t> waits(nodes + loops, 0), order(nodes + loops);
    for (size_t id = 0; id < nodes; ++id) order[id] = id;
    for (size_t i = 0; i < loops; ++i) {
      const Loop& loop = result_.loops[i];
      order[nodes + i] = static_cast<size_t>(loop.turns[loop.running(0)][0]->id);
    }
    for (Node* node : graph_.nodes()) {
      if (!is_item(*node)) continue;
      size_t unit = unit_of(static_cast<size_t>(node->id));
      for (Tensor t : node->inputs) {
        if (!t || !is_item(*t.node()) || unit_of(id_of(t)) == unit) continue;
        readers[unit_of(id_of(t))].push_back(unit);
        ++waits[unit];
      }
    }
    std::priority_queue<std::pair<size_t, size_t>, std::vector<std::pair<size_t, size_t>>,
                        std::greater<>>
        ready;
    size_t units = loops;
    for (Node* node : graph_.nodes()) {
      size_t id = static_cast<size_t>(node->id);
      if (!is_item(*node) || result_.loop_of[id] >= 0) continue;
      ++units;
      if (waits[id] == 0) ready.emplace(order[id], id);
    }
    for (size_t i = 0; i < loops; ++i) {
      if (waits[nodes + i] == 0) ready.emplace(order[nodes + i], nodes + i);
    }
    result_.items.clear();
    while (!ready.empty()) {
      size_t unit = ready.top().second;
      ready.pop();
      result_.items.push_back(unit < nodes ? Item{graph_.nodes()[unit], 0}
                                           : Item{nullptr, unit - nodes});
      for (size_t reader : readers[unit]) {
        if (--waits[reader] == 0) ready.emplace(order[reader], reader);
      }
    }
    return result_.items.size() == units;
  }

  // The loop recorded last among those that never ran becomes nodes again.
  void drop_one_waiting() {
    std::vector<bool> ran(result_.loops.size(), false);
    for (const Item& item : result_.items) {
      if (item.node == nullptr) ran[item.loop] = true;
    }
    auto waiting = std::find(ran.rbegin(), ran.rend(), false);
    check(waiting != ran.rend(), "a recording whose nodes wait for each other");
    auto dropped = static_cast<int64_t>(ran.rend() - waiting) - 1;
    result_.loops.erase(result_.loops.begin() + dropped);
    for (size_t id = 0; id < result_.loop_of.size(); ++id) {
      int64_t& loop = result_.loop_of[id];
      if (loop == dropped) loop = result_.turn_of[id] = result_.place_of[id] = -1;
      if (loop > dropped) --loop;
    }
  }

  const Graph& graph_;
  size_t least_;
  std::vector<bool> live_;
  Rolled result_;
};

}  // namespace

Rolled roll(const Graph& graph, size_t least) { return Roller(graph, least).run(); }

}  // namespace bertrain
