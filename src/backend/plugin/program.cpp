// Arguments from names, results to names, and who is dead afterwards.
#include "backend/plugin/program.h"

#include <algorithm>
#include <chrono>

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
                         std::shared_ptr<Shelf> shelf)
    : shelf_(std::move(shelf)), module_(emit_module(graph, options)), counts_(graph, module_) {
  int devices = shelf_->devices();
  for (const Node* node : graph.nodes()) {
    if (node->op != &kInput) continue;
    ArrayType whole = whole_type(node->outputs[0], node->placement, devices);
    inputs_.emplace(node->name, Input{std::move(whole), node->placement});
  }
  check(options.replicas == devices, "a program for as many replicas as there are devices");
  executable_ = shelf_->compile(module_.text);
  module_.text.clear();
  Named<size_t> numbers;
  for (const auto& [name, input] : inputs_) numbers.emplace(name, numbers.size());
  for (const Slot& slot : module_.arguments) {
    auto& list = argument_inputs_.emplace_back();
    for (const std::string& name : slot.names) list.push_back(numbers.at(name));
  }
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
            [](const Place& a, const Place& b) { return *a.name < *b.name; });
}

// Both are in order of names, so that one walk along both says what is missing or too much.
void PjrtProgram::check_inputs(const DeviceArrays& inputs) const {
  auto given = inputs.begin();
  for (const auto& [name, input] : inputs_) {
    if (given == inputs.end() || name < given->first) {
      throw error("input '{}' of the program is missing", name);
    }
    if (given->first < name) throw error("the program has no input '{}'", given->first);
    if (given->second->type() != input.whole) {
      throw error("input '{}' must be {}, but is {}", name, to_string(input.whole),
                  to_string(given->second->type()));
    }
    if (shelf_->devices() > 1 && alive(*given->second).placement != input.placement) {
      throw error("input '{}' must be {} every device", name,
                  input.placement == Placement::split ? "split over" : "equal on");
    }
    ++given;
  }
  if (given != inputs.end()) throw error("the program has no input '{}'", given->first);
}

DeviceArrays PjrtProgram::run(DeviceArrays inputs) {
  check_inputs(inputs);
  PjrtArrays arrays;
  arrays.reserve(inputs.size());
  for (const auto& [name, array] : inputs) arrays.push_back(&alive(*array));

  size_t devices = static_cast<size_t>(shelf_->devices());
  std::vector<std::vector<PjrtBuffer*>> arguments(devices);
  std::vector<std::shared_ptr<Stored>> given;
  given.reserve(module_.arguments.size());
  PjrtArrays layers;
  for (size_t a = 0; a < module_.arguments.size(); ++a) {
    layers.clear();
    for (size_t number : argument_inputs_[a]) layers.push_back(arrays[number]);
    bool stacked = module_.arguments[a].stacked;
    given.push_back(stacked ? shelf_->stack(layers) : shelf_->alone(*layers[0]));
    for (size_t d = 0; d < devices; ++d) arguments[d].push_back(given[a]->buffers[d].get());
  }
  auto results = executable_->run(arguments, result_types_);

  for (size_t i = 0; i < given.size(); ++i) {
    if (module_.arguments[i].replaced_by < 0) continue;
    given[i]->dead = true;
    for (auto& buffer : given[i]->buffers) buffer->donated();
  }
  std::vector<std::shared_ptr<Stored>> made(module_.results.size());
  for (size_t r = 0; r < made.size(); ++r) {
    made[r] = std::make_shared<Stored>();
    made[r]->type = result_types_[r];
    made[r]->placement = module_.results[r].placement;
    for (auto& of_device : results) made[r]->buffers.push_back(std::move(of_device[r]));
  }
  DeviceArrays outputs;
  auto replaced = inputs.begin();
  for (const Place& place : outputs_) {
    auto array = std::make_shared<PjrtArray>();
    array->placement = module_.results[place.slot].placement;
    array->whole = place.whole;
    array->stored = made[place.slot];
    if (module_.results[place.slot].stacked) array->layer = place.layer;
    while (replaced != inputs.end() && replaced->first < *place.name) ++replaced;
    if (replaced != inputs.end() && replaced->first == *place.name) {
      static_cast<PjrtArray&>(*replaced->second).dead = true;
      // The map's entry with its name serves again: there are hundreds in each step.
      auto entry = inputs.extract(replaced++);
      entry.mapped() = std::move(array);
      outputs.insert(outputs.end(), std::move(entry));
    } else {
      outputs.emplace_hint(outputs.end(), *place.name, std::move(array));
    }
  }
  return outputs;
}

Named<double> PjrtProgram::profile(DeviceArrays inputs) {
  auto start = std::chrono::steady_clock::now();
  run(std::move(inputs));
  executable_->wait();
  return {
      {"program", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}};
}

}  // namespace bertrain
