// What a run keeps from its first start, so that a later one computes the same bits: instruction set,
// devices, type of activations.
#pragma once

#include <initializer_list>
#include <string>

#include "backend/backend.h"
#include "cli/training_options.h"
#include "train/run_directory.h"

namespace bertrain {

class FirstStart {
 public:
  // All must outlive it; `settings`: this start's options by name.
  FirstStart(RunDirectory& run, const Json& settings, const TrainingOptions& options)
      : run_(run), settings_(settings), options_(options) {}

  // Whether the run was started with another value of one of the settings, so that what was chosen
  // for it is not for this start. Only --resume=inexact gets here with one.
  bool changed(std::initializer_list<const char*> settings) const;
  // Throws where they differ from the first start's, unless --resume=inexact.
  void agree_instruction_set() const;
  // Whether the devices are as many as at the first start: their number decides how sums are made, as
  // their kind and their compiler's version do.
  bool agree_devices(const Backend& backend) const;
  std::string agreed_dtype() const;

 private:
  RunDirectory& run_;
  const Json& settings_;
  const TrainingOptions& options_;
};

}  // namespace bertrain
