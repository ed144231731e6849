// Named state on a backend.
#include "train/state.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/quote.h"
#include "optim/slot_names.h"

namespace bertrain {
namespace {

bool is_listed(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What optimizers and training loops keep beside the parameters, under every optimizer's names.
bool is_training_state(std::string_view name) {
  return name == "global_step" || name.starts_with("bertrain/") || !slot_owner(name).empty();
}

bool is_finite(const Array& array) {
  std::span<const float> values = array.as<float>();
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

Array read_finite(const CheckpointReader& checkpoint, const std::string& name) {
  Array array = checkpoint.read(name);
  if (is_finite(array)) return array;
  throw error(
      "{}: {} holds NaN or an infinity; training that made it had failed: use another checkpoint",
      checkpoint.uri(), name);
}

}  // namespace

State::State(Backend& backend, std::vector<Parameter> parameters, const Optimizer* optimizer)
    : backend_(backend), parameters_(std::move(parameters)), device_state_(backend.make_state()) {
  for (const Parameter& p : parameters_) {
    parameter_types_.emplace(p.name, ArrayType{DType::f32, p.shape});
    if (optimizer == nullptr) continue;
    for (const auto& [suffix, shape] : optimizer->slots(p)) {
      slot_types_.emplace(p.name + "/" + suffix, ArrayType{DType::f32, shape});
    }
  }
}

void State::initialise(uint64_t seed) {
  for (const Parameter& p : parameters_) set(p.name, initial_value(p, seed));
  for (const auto& [name, type] : slot_types_) set(name, zeros(type));
}

LoadReport State::load_parameters(const CheckpointReader& checkpoint, bool new_head) {
  LoadReport report;
  const Named<ArrayType>& tensors = checkpoint.tensors();
  for (const Parameter& p : parameters_) {
    const ArrayType& wanted = parameter_types_.at(p.name);
    auto found = tensors.find(p.name);
    if (found == tensors.end()) {
      report.missing.push_back(p.name);
    } else if (new_head && !p.name.starts_with("bert/")) {
      report.relabelled.push_back(p.name);
    } else if (found->second == wanted) {
      set(p.name, read_finite(checkpoint, p.name));
      report.loaded.push_back(p.name);
    } else if (found->second.shape != wanted.shape && !p.name.starts_with("bert/")) {
      report.resized.push_back(p.name);
    } else {
      throw error("{}: {} is {}, but the model's configuration makes it {}", checkpoint.uri(),
                  p.name, to_string(found->second), to_string(wanted));
    }
  }
  for (const auto& [name, type] : tensors) {
    if (!parameter_types_.contains(name) && !is_training_state(name)) {
      report.unused.push_back(name);
    }
  }
  return report;
}

void State::load_all(const CheckpointReader& checkpoint, const std::vector<std::string>& besides) {
  Named<ArrayType> wanted = types();
  std::vector<std::string> missing, different, unknown;
  for (const auto& [name, type] : wanted) {
    auto found = checkpoint.tensors().find(name);
    if (found == checkpoint.tensors().end()) {
      missing.push_back(name);
    } else if (found->second != type) {
      different.push_back(fmt::format("{}: {} here, {} in the file", name, to_string(type),
                                      to_string(found->second)));
    }
  }
  for (const auto& [name, type] : checkpoint.tensors()) {
    if (!wanted.contains(name) && !is_listed(besides, name)) unknown.push_back(name);
  }
  std::string problems;
  if (!missing.empty()) problems += "\nmissing in it:\n  " + some_of(missing, "\n  ");
  if (!different.empty()) problems += "\nof another type:\n  " + some_of(different, "\n  ");
  if (!unknown.empty()) problems += "\nunknown to this run:\n  " + some_of(unknown, "\n  ");
  if (!problems.empty()) {
    throw error("{} does not fit this model and optimizer, so the run cannot go on from it:{}",
                checkpoint.uri(), problems);
  }
  for (const auto& [name, type] : wanted) set(name, read_finite(checkpoint, name));
}

void State::save(CheckpointWriter& writer) const {
  // In the order of names, which lets the writer pass each on at once.
  for (const auto& [name, type] : types()) writer.write(name, get(name));
}

std::optional<std::string> State::first_not_finite() const {
  for (const auto& [name, type] : types()) {
    if (!is_finite(get(name))) return name;
  }
  return std::nullopt;
}

Named<Array> State::snapshot(bool with_slots) const {
  Named<Array> copies;
  for (const auto& [name, type] : types(with_slots)) copies.emplace(name, get(name));
  return copies;
}

Named<ArrayType> State::types(bool with_slots) const {
  Named<ArrayType> all = parameter_types_;
  if (with_slots) all.insert(slot_types_.begin(), slot_types_.end());
  return all;
}

Array State::get(std::string_view name) const {
  auto found = arrays().find(name);
  check(found != arrays().end(), fmt::format("no state is named {}", name));
  return backend_.get(*found->second);
}

void State::set(std::string_view name, const Array& value) {
  auto type = parameter_types_.find(name);
  bool is_parameter = type != parameter_types_.end();
  if (!is_parameter) type = slot_types_.find(name);
  check(is_parameter || type != slot_types_.end(), fmt::format("no state is named {}", name));
  check(value.type == type->second,
        fmt::format("{} is {}, not {}", name, to_string(type->second), to_string(value.type)));
  device_state_->set(std::string(name), backend_.put(value, Placement::replicate));
}

uint64_t State::parameter_count() const {
  uint64_t count = 0;
  for (const Parameter& p : parameters_) count += static_cast<uint64_t>(elements(p.shape));
  return count;
}

bool State::holds(std::string_view name) const {
  return parameter_types_.contains(name) || slot_types_.contains(name);
}

}  // namespace bertrain
