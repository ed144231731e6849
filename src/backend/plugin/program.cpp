// Arguments from names, results to names, and who is dead afterwards.
#include "backend/plugin/program.h"

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
    : shelf_(std::move(shelf)), module_(emit_module(graph, options)) {
  for (const Node* node : graph.nodes()) {
    if (node->op == &kInput)
      inputs_.emplace(node->name, std::pair(node->outputs[0], node->placement));
  }
  executable_ = shelf_->client().compile(module_.text, {static_cast<int>(options.replicas)});
  module_.text.clear();
  for (const Slot& slot : module_.results) result_types_.push_back(slot.type);
}

PjrtArrays PjrtProgram::arrays_of(const Slot& slot, const DeviceArrays& inputs) const {
  PjrtArrays arrays;
  for (const std::string& name : slot.names) arrays.push_back(alive(inputs.find(name)->second));
  return arrays;
}

DeviceArrays PjrtProgram::run(DeviceArrays inputs) {
  for (const auto& [name, array] : inputs) {
    if (!inputs_.contains(name)) throw error("the program has no input '{}'", name);
  }
  for (const auto& [name, input] : inputs_) {
    auto found = inputs.find(name);
    if (found == inputs.end()) throw error("input '{}' of the program is missing", name);
    ArrayType wanted = whole_type(input.first, input.second, shelf_->devices());
    if (found->second->type() != wanted) {
      throw error("input '{}' must be {}, but is {}", name, to_string(wanted),
                  to_string(found->second->type()));
    }
  }
  size_t devices = static_cast<size_t>(shelf_->devices());
  std::vector<std::vector<PjrtBuffer*>> arguments(devices);
  std::vector<std::shared_ptr<Stored>> given;
  for (const Slot& slot : module_.arguments) {
    PjrtArrays arrays = arrays_of(slot, inputs);
    given.push_back(slot.stacked ? shelf_->stack(arrays) : shelf_->alone(*arrays[0]));
    for (size_t d = 0; d < devices; ++d) arguments[d].push_back(given.back()->buffers[d].get());
  }
  auto results = executable_->run(arguments, result_types_);

  for (size_t i = 0; i < given.size(); ++i) {
    if (module_.arguments[i].replaced_by < 0) continue;
    given[i]->dead = true;
    for (auto& buffer : given[i]->buffers) buffer->donated();
  }
  DeviceArrays outputs;
  for (size_t r = 0; r < module_.results.size(); ++r) {
    const Slot& slot = module_.results[r];
    auto stored = std::make_shared<Stored>();
    stored->type = slot.type;
    stored->placement = slot.placement;
    for (auto& of_device : results) stored->buffers.push_back(std::move(of_device[r]));
    for (size_t i = 0; i < slot.names.size(); ++i) {
      auto array = std::make_shared<PjrtArray>();
      ArrayType part = slot.type;
      if (slot.stacked) part.shape.erase(part.shape.begin());
      array->whole = whole_type(part, slot.placement, shelf_->devices());
      array->stored = stored;
      if (slot.stacked) array->layer = i;
      if (auto replaced = inputs.find(slot.names[i]); replaced != inputs.end()) {
        static_cast<PjrtArray&>(*replaced->second).dead = true;
      }
      outputs.emplace(slot.names[i], std::move(array));
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
