// Writes the module: arguments, nodes and loops in running order, results.
#include "backend/stablehlo/module.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "backend/stablehlo/loops.h"
#include "backend/stablehlo/primitives.h"
#include "backend/stablehlo/stacks.h"
#include "base/error.h"
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

class ModuleWriter {
 public:
  ModuleWriter(const Graph& graph, const ModuleOptions& options)
      : graph_(graph),
        options_(options),
        rolled_(roll(graph, options.least_turns > 0 ? static_cast<size_t>(options.least_turns)
                                                    : std::numeric_limits<size_t>::max())),
        stacks_(rolled_),
        places_(graph, rolled_, stacks_, text_) {}

  Module write() {
    choose_results();
    choose_arguments();
    note_uses();
    for (const Item& item : rolled_.items) {
      if (item.node == nullptr) {
        write_loop(rolled_, item.loop, options_.replicas, places_);
      } else {
        write_node(*item.node);
      }
    }
    write_return();
    module_.text = header() + text_.str() + "}\n}\n";
    return std::move(module_);
  }

 private:
  // Outputs that are one value of each turn leave as one array, if what they replace enters as one.
  void choose_results() {
    std::set<std::string> done;
    for (const Output& output : graph_.outputs()) {
      if (done.contains(output.name)) continue;
      std::optional<Slot> stack = stacked_result(output);
      Slot slot =
          stack ? *stack : Slot{{output.name}, false, output.value.type(), output.placement};
      module_.results.push_back(std::move(slot));
      for (const std::string& name : module_.results.back().names) done.insert(name);
    }
  }

  std::optional<Slot> stacked_result(const Output& output) const {
    if (rolled_.loop_of[static_cast<size_t>(output.value.node()->id)] < 0) return std::nullopt;
    auto replaced = graph_.find_input(output.name);
    auto place = replaced ? stacks_.group_of(*replaced.node()) : std::nullopt;
    if (!place) return std::nullopt;
    const Sequence& sequence = stacks_.sequences()[stacks_.sequence_of(output.value).first];
    const InputGroup& group = stacks_.groups()[place->first];
    if (sequence.values.size() != group.size()) return std::nullopt;
    Slot slot{{}, true, output.value.type(), output.placement};
    for (size_t i = 0; i < group.size(); ++i) {
      auto outputs = graph_.outputs();
      auto same = std::find_if(outputs.begin(), outputs.end(), [&](const Output& o) {
        return o.name == group[i]->name && o.value == sequence.values[i];
      });
      if (same == outputs.end()) return std::nullopt;
      slot.names.push_back(same->name);
    }
    slot.type.shape.insert(slot.type.shape.begin(), static_cast<int64_t>(group.size()));
    return slot;
  }

  // Every input that is read, or replaced by an output of its name.
  void choose_arguments() {
    std::vector<bool> read(graph_.nodes().size(), false);
    auto reads = [&](Tensor t) {
      if (t) read[static_cast<size_t>(t.node()->id)] = true;
    };
    for (const Output& output : graph_.outputs()) {
      reads(output.value);
      reads(graph_.find_input(output.name));
    }
    for (const Item& item : rolled_.items) {
      if (item.node != nullptr) {
        for (Tensor t : item.node->inputs) reads(t);
        continue;
      }
      for (const auto& turn : rolled_.loops[item.loop].turns) {
        for (const Node* node : turn) {
          for (Tensor t : node->inputs) reads(t);
        }
      }
    }
    std::vector<bool> grouped(stacks_.groups().size(), false);
    for (const Node* node : graph_.nodes()) {
      if (node->op != &kInput || !read[static_cast<size_t>(node->id)]) continue;
      Value value{"%arg" + std::to_string(module_.arguments.size()), node->outputs[0]};
      if (auto place = stacks_.group_of(*node)) {
        if (grouped[place->first]) continue;
        grouped[place->first] = true;
        const InputGroup& group = stacks_.groups()[place->first];
        value.type.shape.insert(value.type.shape.begin(), static_cast<int64_t>(group.size()));
        Slot slot{{}, true, value.type, node->placement};
        for (const Node* member : group) slot.names.push_back(member->name);
        places_.set_group(place->first, value);
        add_argument(std::move(slot));
      } else {
        places_.set(Tensor(const_cast<Node*>(node), 0), value);
        add_argument({{node->name}, false, value.type, node->placement});
      }
    }
  }

  void add_argument(Slot slot) {
    for (size_t r = 0; r < module_.results.size(); ++r) {
      const Slot& result = module_.results[r];
      if (result.names == slot.names && result.stacked == slot.stacked) {
        slot.replaced_by = static_cast<int64_t>(r);
      }
    }
    module_.arguments.push_back(std::move(slot));
  }

  // What is read of loops has to be kept by them; so that is noted before the first is written.
  void note_uses() {
    for (const Item& item : rolled_.items) {
      if (item.node == nullptr) {
        const Loop& loop = rolled_.loops[item.loop];
        for (Tensor t : loop.invariants) places_.note(t);
        for (const Carried& carried : loop.carried) places_.note(carried.first);
        for (const Tensors& values : loop.stacked) places_.note(stacks_.find(values));
      } else if (item.node->op == &kSumOfSquares) {
        for (const Part& part : parts_of(*item.node)) {
          part.sequence ? places_.note_sequence(*part.sequence) : places_.note(part.value);
        }
      } else {
        for (Tensor t : item.node->inputs) {
          if (t) places_.note(t);
        }
      }
    }
    for (const Slot& slot : module_.results) {
      Tensor value = output_value(slot.names[0]);
      if (slot.stacked) {
        places_.note_sequence(stacks_.sequence_of(value).first);
      } else {
        places_.note(value);
      }
    }
  }

  Tensor output_value(std::string_view name) const {
    for (const Output& output : graph_.outputs()) {
      if (output.name == name) return output.value;
    }
    check(false, "no such output");
    return {};
  }

  void write_node(const Node& node) {
    if (node.op == &kSumOfSquares) {
      places_.set(Tensor(const_cast<Node*>(&node), 0), write_sum_of_squares(node));
      return;
    }
    ValueList inputs;
    for (Tensor t : node.inputs) {
      if (t) inputs.push_back(places_.value(t));
    }
    ValueList outputs = emit_node({text_, options_.replicas, 0}, node, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      places_.set(Tensor(const_cast<Node*>(&node), static_cast<int>(i)), outputs[i]);
    }
  }

  struct Part {
    Tensor value;
    std::optional<size_t> sequence;  // all of whose values are summed at once
  };

  // The inputs of a sum of squares, those that all turns of a loop made taken together.
  std::vector<Part> parts_of(const Node& node) const {
    std::map<size_t, std::set<size_t>> turns;  // of a sequence, which are summed, each once
    auto place_of = [&](Tensor t) -> std::optional<std::pair<size_t, size_t>> {
      if (rolled_.loop_of[static_cast<size_t>(t.node()->id)] < 0) return std::nullopt;
      return stacks_.sequence_of(t);
    };
    std::set<size_t> repeated;
    for (Tensor t : node.inputs) {
      auto place = place_of(t);
      if (place && !turns[place->first].insert(place->second).second) repeated.insert(place->first);
    }
    std::vector<Part> parts;
    for (Tensor t : node.inputs) {
      auto place = place_of(t);
      bool whole = place && !repeated.contains(place->first) &&
                   turns[place->first].size() == stacks_.sequences()[place->first].values.size();
      if (!whole) {
        parts.push_back({t, std::nullopt});
      } else if (place->second == 0) {
        parts.push_back({t, place->first});
      }
    }
    return parts;
  }

  Value write_sum_of_squares(const Node& node) {
    ArrayType sum{DType::f32, {}};
    std::optional<Value> total;
    for (const Part& part : parts_of(node)) {
      Value x = part.sequence ? places_.sequence(*part.sequence) : places_.value(part.value);
      ArrayType wide{DType::f32, x.type.shape};
      if (x.type != wide) {
        x = text_.value(
            wide, fmt::format("stablehlo.convert {} : {}", x.name, signature_text({&x, 1}, wide)));
      }
      Value square = text_.value(
          wide, fmt::format("stablehlo.multiply {0}, {0} : {1}", x.name, type_text(wide)));
      std::vector<int64_t> axes(wide.shape.size());
      std::iota(axes.begin(), axes.end(), 0);
      ValueList operands = {square, text_.scalar(DType::f32, 0)};
      Value reduced = text_.value(
          sum, fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.add across dimensions "
                           "= [{}] : {}",
                           operands[0].name, operands[1].name, list_text(axes),
                           signature_text(operands, sum)));
      total = total ? text_.value(sum, fmt::format("stablehlo.add {}, {} : {}", total->name,
                                                   reduced.name, type_text(sum)))
                    : reduced;
    }
    return *total;
  }

  void write_return() {
    ValueList values;
    for (const Slot& slot : module_.results) {
      Tensor value = output_value(slot.names[0]);
      values.push_back(slot.stacked ? places_.sequence(stacks_.sequence_of(value).first)
                                    : places_.value(value));
    }
    text_.line(values.empty()
                   ? "return"
                   : fmt::format("return {} : {}", names_text(values), types_text(values)));
  }

  std::string header() const {
    std::string arguments, results;
    for (size_t i = 0; i < module_.arguments.size(); ++i) {
      const Slot& slot = module_.arguments[i];
      arguments += fmt::format("{}%arg{}: {}", i == 0 ? "" : ", ", i, type_text(slot.type));
      if (slot.replaced_by >= 0) {
        arguments += fmt::format(" {{tf.aliasing_output = {} : i32}}", slot.replaced_by);
      }
    }
    for (const Slot& slot : module_.results) {
      results += (results.empty() ? "" : ", ") + type_text(slot.type);
    }
    return fmt::format(
        "module @bertrain attributes {{mhlo.num_partitions = 1 : i32, mhlo.num_replicas = {} : "
        "i32}} {{\nfunc.func public @main({}) -> ({}) {{\n",
        options_.replicas, arguments, results);
  }

  const Graph& graph_;
  const ModuleOptions& options_;
  Module module_;
  Rolled rolled_;
  Stacks stacks_;
  Text text_;
  Places places_;
};

}  // namespace

bool is_emitted(const Node& node) {
  if (!node.op->expand) return true;
  return node.op == &kSumOfSquares && node.turn.loop.empty();
}

Module emit_module(const Graph& graph, const ModuleOptions& options) {
  return ModuleWriter(graph, options).write();
}

}  // namespace bertrain
