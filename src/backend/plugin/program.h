// A graph compiled by a plugin: how inputs and outputs by name become its arguments and results.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/plugin/arrays.h"
#include "backend/plugin/counts.h"
#include "backend/stablehlo/module.h"

namespace bertrain {

class PjrtProgram : public Program {
 public:
  // `graph` is expanded as far as is_emitted asks.
  PjrtProgram(const Graph& graph, const ModuleOptions& options, std::shared_ptr<Shelf> shelf);

  DeviceArrays run(DeviceArrays inputs) override;
  ProgramFacts facts() const override { return counts_.in(executable_->facts()); }
  // A plugin does not say what its operations cost: one entry, "program".
  Named<double> profile(DeviceArrays inputs) override;

 private:
  // The arrays of a slot by their numbers in order of names.
  struct Place {
    const std::string* name;
    size_t slot, layer;
    std::shared_ptr<const ArrayType> whole;  // of this process
  };
  void check_inputs(const DeviceArrays& inputs) const;

  std::shared_ptr<Shelf> shelf_;
  struct Input {
    ArrayType whole;  // of this process
    Placement placement;
  };
  Named<Input> inputs_;
  Module module_;
  Counts counts_;
  std::vector<std::vector<size_t>> argument_inputs_;  // [argument]: numbers of its inputs
  std::vector<Place> outputs_;                        // by name
  std::shared_ptr<PjrtExecutable> executable_;
  std::vector<ArrayType> result_types_;
};

}  // namespace bertrain
