// Looks values up, and cuts them out of or gathers them into stacks.
#include "backend/stablehlo/places.h"

#include "base/error.h"
#include "tensor/ops/op_table.h"

namespace bertrain {

Places::Places(const Graph& graph, const Rolled& rolled, const Stacks& stacks, Text& text)
    : rolled_(rolled),
      stacks_(stacks),
      text_(text),
      needed_(stacks.sequences().size(), false),
      values_(graph.nodes().size()) {
  for (const Node* node : graph.nodes()) {
    values_[static_cast<size_t>(node->id)].resize(node->outputs.size());
  }
}

bool Places::is_rolled(Tensor value) const {
  return rolled_.loop_of[static_cast<size_t>(value.node()->id)] >= 0;
}

void Places::note(Tensor value) {
  if (!is_rolled(value) || stacks_.final_carried(value)) return;
  needed_[stacks_.sequence_of(value).first] = true;
}

void Places::note(const StackPart& part) {
  if (part.kind == StackPart::sequence) needed_[part.index] = true;
  for (Tensor t : part.values) note(t);
}

void Places::set(Tensor value, Value written) {
  check(written.type == value.type(),
        fmt::format("{} was written as {}", to_string(value.type()), to_string(written.type)));
  values_[static_cast<size_t>(value.node()->id)][static_cast<size_t>(value.output())] =
      std::move(written);
}

void Places::set_last(size_t loop, size_t carried, Value written) {
  last_[{loop, carried}] = std::move(written);
}

Value Places::layer(const Value& stack, size_t index) {
  ArrayType cut = stack.type, type = stack.type;
  cut.shape[0] = 1;
  type.shape.erase(type.shape.begin());
  auto first = static_cast<int64_t>(index);
  Value part = text_.value(cut, fmt::format("stablehlo.slice {} [{}] : {}", stack.name,
                                            layers_text(stack.type.shape, first, first + 1),
                                            signature_text({&stack, 1}, cut)));
  return text_.value(
      type, fmt::format("stablehlo.reshape {} : {}", part.name, signature_text({&part, 1}, type)));
}

Value Places::value(Tensor value) {
  Value& known =
      values_[static_cast<size_t>(value.node()->id)][static_cast<size_t>(value.output())];
  if (!known.name.empty()) return known;
  if (value.node()->op == &kConstant) {
    known = text_.constant(value.node()->value);
  } else if (value.node()->op == &kInput) {
    auto place = stacks_.group_of(*value.node());
    check(place.has_value(), fmt::format("input {} is no argument", value.node()->name));
    known = layer(groups_.at(place->first), place->second);
  } else {
    check(is_rolled(value), fmt::format("{} is read before it is written", value.node()->op->name));
    if (auto carried = stacks_.final_carried(value)) {
      size_t id = static_cast<size_t>(value.node()->id);
      known = last_.at({static_cast<size_t>(rolled_.loop_of[id]), *carried});
    } else {
      auto [sequence, turn] = stacks_.sequence_of(value);
      known = layer(sequences_.at(sequence), turn);
    }
  }
  return known;
}

const Value& Places::sequence(size_t sequence) const { return sequences_.at(sequence); }

Value Places::stack(const StackPart& part) {
  if (part.kind == StackPart::group) return groups_.at(part.index);
  if (part.kind == StackPart::sequence) return sequences_.at(part.index);
  ValueList layers;
  for (Tensor t : part.values) {
    Value x = value(t);
    ArrayType one = x.type;
    one.shape.insert(one.shape.begin(), 1);
    layers.push_back(text_.value(
        one, fmt::format("stablehlo.reshape {} : {}", x.name, signature_text({&x, 1}, one))));
  }
  ArrayType type = layers[0].type;
  type.shape[0] = static_cast<int64_t>(layers.size());
  return text_.value(type, fmt::format("stablehlo.concatenate {}, dim = 0 : {}", names_text(layers),
                                       signature_text(layers, type)));
}

}  // namespace bertrain
