// Arguments from names, results to names, and who is dead afterwards.
#include "backend/plugin/program.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace bertrain {
namespace {

ArrayType whole_type(const ArrayType& part, Placement placement, int devices) {
  ArrayType whole = part;
  if (placement == Placement::split && !whole.shape.empty()) whole.shape[0] *= devices;
  return whole;
}

}  // namespace

PjrtProgram::PjrtProgram(const Graph& graph, const ModuleOptions& options,
                         std::shared_ptr<Shelf> shelf, std::shared_ptr<StateLayouts> layouts,
                         std::function<void()> before_run)
    : shelf_(std::move(shelf)),
      layouts_(std::move(layouts)),
      before_run_(std::move(before_run)),
      module_(emit_module(graph, options)),
      counts_(graph, module_) {
  int devices = shelf_->devices();
  for (const Node* node : graph.nodes()) {
    if (node->op != &kInput) continue;
    ArrayType whole = whole_type(node->outputs[0], node->placement, devices);
    inputs_.emplace(node->name, Input{std::move(whole), node->placement});
  }
  check(options.replicas == devices, "a program for as many replicas as there are devices");
  executable_ = shelf_->compile(module_.text);
  module_.text.clear();
  for (size_t r = 0; r < module_.results.size(); ++r) {
    const Slot& slot = module_.results[r];
    result_types_.push_back(slot.type);
    ArrayType part = slot.type;
    if (slot.stacked) part.shape.erase(part.shape.begin());
    auto whole = std::make_shared<ArrayType>(whole_type(part, slot.placement, devices));
    for (size_t i = 0; i < slot.names.size(); ++i)
      outputs_.push_back({&slot.names[i], r, i, whole});
  }
  std::sort(outputs_.begin(), outputs_.end(),
            [](const OutputPlace& a, const OutputPlace& b) { return *a.name < *b.name; });
}

void PjrtProgram::check_input(const std::string& name, const Input& input,
                              DeviceArray& given) const {
  const PjrtArray& array = alive(given);
  if (array.type() != input.whole) {
    throw error("input '{}' must be {}, but is {}", name, to_string(input.whole),
                to_string(array.type()));
  }
  if (shelf_->devices() > 1 && array.placement != input.placement) {
    throw error("input '{}' must be {} every device", name,
                input.placement == Placement::split ? "split over" : "equal on");
  }
}

// Both are in order of names, so that one walk along both says what is missing or too much.
void PjrtProgram::check_inputs(const DeviceArrays& given, const Named<Input>& inputs) const {
  auto at = given.begin();
  for (const auto& [name, input] : inputs) {
    if (at == given.end() || name < at->first) {
      throw error("input '{}' of the program is missing", name);
    }
    if (at->first < name) throw error("the program has no input '{}'", at->first);
    check_input(name, input, *at->second);
    ++at;
  }
  if (at != given.end()) throw error("the program has no input '{}'", at->first);
}

std::shared_ptr<Stored> PjrtProgram::argument(size_t number, const DeviceArrays& inputs) const {
  const Slot& slot = module_.arguments[number];
  PjrtArrays layers;
  for (const std::string& name : slot.names) layers.push_back(&alive(*inputs.find(name)->second));
  return slot.stacked ? shelf_->stack(layers) : shelf_->alone(*layers[0]);
}

void PjrtProgram::send_ahead(const DeviceArrays& inputs) {
  for (size_t a = 0; a < module_.arguments.size(); ++a) {
    const std::vector<std::string>& names = module_.arguments[a].names;
    bool complete = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      auto given = inputs.find(name);
      if (given == inputs.end()) return false;
      check_input(name, inputs_.at(name), *given->second);
      return true;
    });
    if (complete) argument(a, inputs);
  }
}

StoredList PjrtProgram::execute(const StoredList& given) {
  std::vector<std::vector<PjrtBuffer*>> arguments(static_cast<size_t>(shelf_->devices()));
  for (size_t d = 0; d < arguments.size(); ++d) {
    arguments[d].reserve(given.size());
    for (const auto& stored : given) arguments[d].push_back(stored->buffers[d].get());
  }
  if (before_run_) before_run_();
  auto results = executable_->run(arguments, result_types_);

  for (size_t i = 0; i < given.size(); ++i) {
    if (module_.arguments[i].replaced_by < 0) continue;
    given[i]->dead = true;
    for (auto& buffer : given[i]->buffers) buffer->donated();
  }
  StoredList made(module_.results.size());
  for (size_t r = 0; r < made.size(); ++r) {
    made[r] = std::make_shared<Stored>();
    made[r]->type = result_types_[r];
    made[r]->placement = module_.results[r].placement;
    for (auto& of_device : results) made[r]->buffers.push_back(std::move(of_device[r]));
  }
  return made;
}

DeviceArrays PjrtProgram::outputs(const std::vector<OutputPlace>& places,
                                  const DeviceArrays& inputs, const StoredList& made) const {
  DeviceArrays outputs;
  for (const OutputPlace& place : places) {
    auto replaced = inputs.find(*place.name);
    if (replaced != inputs.end()) static_cast<PjrtArray&>(*replaced->second).dead = true;
    auto array = std::make_shared<PjrtArray>();
    array->placement = module_.results[place.slot].placement;
    array->whole = place.whole;
    array->stored = made[place.slot];
    if (module_.results[place.slot].stacked) array->layer = place.layer;
    outputs.emplace_hint(outputs.end(), *place.name, std::move(array));
  }
  return outputs;
}

DeviceArrays PjrtProgram::run(DeviceArrays inputs) {
  check_inputs(inputs, inputs_);
  StoredList given(module_.arguments.size());
  for (size_t a = 0; a < given.size(); ++a) given[a] = argument(a, inputs);
  return outputs(outputs_, inputs, execute(given));
}

std::optional<PjrtProgram::StateUse> PjrtProgram::use_of(
    const std::vector<std::string>& from_state) const {
  const std::set<std::string_view> names(from_state.begin(), from_state.end());
  const auto in_state = [&](const std::string& name) { return names.contains(name); };
  StateUse use;
  StateLayout layout;
  for (size_t a = 0; a < module_.arguments.size(); ++a) {
    const Slot& argument = module_.arguments[a];
    auto count = std::count_if(argument.names.begin(), argument.names.end(), in_state);
    if (count == 0) continue;
    if (count < std::ssize(argument.names) || argument.replaced_by < 0) return std::nullopt;
    layout.slots.push_back({argument.names, argument.stacked, inputs_.at(argument.names[0]).whole});
    use.names += argument.names.size();
    use.arguments.push_back(a);
    use.results.push_back(static_cast<size_t>(argument.replaced_by));
  }
  if (use.names != from_state.size()) return std::nullopt;  // some is read by nothing
  for (const auto& [name, input] : inputs_) {
    if (!in_state(name)) use.inputs.emplace(name, input);
  }
  for (const OutputPlace& place : outputs_) {
    if (!in_state(*place.name)) use.outputs.push_back(place);
  }
  use.layout = layouts_->find_or_add(std::move(layout));
  return use;
}

DeviceArrays PjrtProgram::update(DeviceState& state, const std::vector<std::string>& from_state,
                                 DeviceArrays inputs) {
  auto* own = dynamic_cast<PjrtState*>(&state);
  check(own != nullptr && own->shelf() == shelf_.get(), "a state of another backend");
  if (!use_is_known_) use_ = use_of(from_state);
  use_is_known_ = true;
  if (!use_) return Program::update(state, from_state, std::move(inputs));
  check(from_state.size() == use_->names, "a program takes the same of a state at each call");
  check_inputs(inputs, use_->inputs);
  StoredList held = own->arguments(use_->layout), given(module_.arguments.size());
  for (size_t i = 0; i < held.size(); ++i) given[use_->arguments[i]] = std::move(held[i]);
  for (size_t a = 0; a < given.size(); ++a) {
    if (!given[a]) given[a] = argument(a, inputs);
  }
  StoredList made = execute(given);
  held.clear();
  for (size_t result : use_->results) held.push_back(made[result]);
  own->replace(use_->layout, std::move(held));
  return outputs(use_->outputs, inputs, made);
}

Named<double> PjrtProgram::profile(DeviceArrays inputs) {
  auto start = std::chrono::steady_clock::now();
  run(std::move(inputs));
  executable_->wait();
  return {
      {"program", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}};
}

}  // namespace bertrain
