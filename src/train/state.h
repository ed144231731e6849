// The parameters and optimizer slots of a run on a backend: first values, loading, saving.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "optim/optimizer.h"
#include "tensor/scope.h"

namespace bertrain {

// What became of a checkpoint's tensors when a model was started from it.
struct LoadReport {
  std::vector<std::string> loaded;   // parameters that took their value from the file
  std::vector<std::string> missing;  // parameters that the file lacks: they keep their first values
  std::vector<std::string> resized;  // heads whose shape in the file differs: first values, too
  std::vector<std::string> relabelled;  // heads for other labels: first values, too
  std::vector<std::string> unused;      // tensors of the file that the model has no place for
};

class State {
 public:
  // Without an optimizer (evaluation) there are no slots.
  State(Backend& backend, std::vector<Parameter> parameters, const Optimizer* optimizer = nullptr);

  // Every parameter's first value (a function of seed and name), every slot zero.
  void initialise(uint64_t seed);

  // Parameters from a checkpoint of any kind whose names are ours; slots and counters in it are
  // neither read nor reported. A tensor under bert/ of another shape is an Error; a head of another
  // shape keeps its first values. With `new_head` every head
  // keeps them. initialise() must have been called. Here and in load_all() a value
  // that is not finite is an Error that names file and tensor.
  LoadReport load_parameters(const CheckpointReader& checkpoint, bool new_head = false);

  // Resume: every parameter and slot. Throws Error listing all that are missing, of another shape,
  // or in the file but unknown; `besides` names what the caller reads itself ("global_step").
  void load_all(const CheckpointReader& checkpoint, const std::vector<std::string>& besides = {});

  // Every parameter and slot by name; the caller adds its own tensors and commits.
  void save(CheckpointWriter& writer) const;

  // The first parameter or slot that holds NaN or an infinity; nullopt: there is none.
  std::optional<std::string> first_not_finite() const;

  // Copies for a writer in the background: the arrays here die at the next step.
  Named<Array> snapshot(bool with_slots = true) const;

  Named<ArrayType> types(bool with_slots = true) const;
  Array get(std::string_view name) const;                                   // a parameter or slot
  void set(std::string_view name, const Array& value);                      // of the same type
  const std::vector<Parameter>& parameters() const { return parameters_; }  // in order of first use
  Backend& backend() const { return backend_; }
  uint64_t parameter_count() const;  // numbers in all parameters

  // What programs run on: by name, parameters and slots.
  const DeviceArrays& arrays() const { return device_state_->arrays(); }
  DeviceState& device_state() { return *device_state_; }
  bool holds(std::string_view name) const;  // a parameter or slot of that name

 private:
  Backend& backend_;
  std::vector<Parameter> parameters_;
  Named<ArrayType> parameter_types_, slot_types_;
  std::unique_ptr<DeviceState> device_state_;
};

}  // namespace bertrain
