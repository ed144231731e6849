// A graph compiled by a plugin: how inputs and outputs by name become its arguments and results.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/plugin/arrays.h"
#include "backend/plugin/counts.h"
#include "backend/plugin/state.h"
#include "backend/stablehlo/module.h"

namespace bertrain {

class PjrtProgram : public Program {
 public:
  // `graph` is expanded as far as is_emitted asks.
  // before_run may throw, and nothing has happened then; it may be empty.
  PjrtProgram(const Graph& graph, const ModuleOptions& options, std::shared_ptr<Shelf> shelf,
              std::shared_ptr<StateLayouts> layouts, std::function<void()> before_run);

  DeviceArrays run(DeviceArrays inputs) override;
  // Where the program replaces all of the state and nothing but the state makes up its arguments, as
  // the same slots, the names are not touched.
  DeviceArrays update(DeviceState& state, const std::vector<std::string>& from_state,
                      DeviceArrays inputs) override;
  void send_ahead(const DeviceArrays& inputs) override;
  ProgramFacts facts() const override { return counts_.in(executable_->facts()); }
  // A plugin does not say what its operations cost: one entry, "program".
  Named<double> profile(DeviceArrays inputs) override;

 private:
  struct Input {
    ArrayType whole;  // of this process
    Placement placement;
  };
  // The arrays of a slot by their numbers in order of names.
  struct OutputPlace {
    const std::string* name;
    size_t slot, layer;
    std::shared_ptr<const ArrayType> whole;  // of this process
  };
  // How an update hands a state over: its slots are these arguments, and come back as these results.
  struct StateUse {
    std::shared_ptr<const StateLayout> layout;
    size_t names = 0;  // of the state, that it covers
    std::vector<size_t> arguments, results;
    Named<Input> inputs;               // that are no state
    std::vector<OutputPlace> outputs;  // likewise
  };

  void check_input(const std::string& name, const Input& input, DeviceArray& given) const;
  void check_inputs(const DeviceArrays& given, const Named<Input>& inputs) const;
  std::optional<StateUse> use_of(const std::vector<std::string>& from_state) const;
  // Sent and, where it is to be, stacked.
  std::shared_ptr<Stored> argument(size_t number, const DeviceArrays& inputs) const;
  StoredList execute(const StoredList& given);
  // Inputs of the outputs' names are dead from then on.
  DeviceArrays outputs(const std::vector<OutputPlace>& places, const DeviceArrays& inputs,
                       const StoredList& made) const;

  std::shared_ptr<Shelf> shelf_;
  std::shared_ptr<StateLayouts> layouts_;
  std::function<void()> before_run_;
  Named<Input> inputs_;
  Module module_;
  Counts counts_;
  std::vector<OutputPlace> outputs_;  // by name
  // Found at the first update; none: the state goes in as arrays.
  bool use_is_known_ = false;
  std::optional<StateUse> use_;
  std::shared_ptr<PjrtExecutable> executable_;
  std::vector<ArrayType> result_types_;
};

}  // namespace bertrain
