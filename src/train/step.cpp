// The host's side of a step: inputs for the programs, micro-batches, results.
#include "train/step.h"

#include <cmath>

#include "base/error.h"
#include "train/signals.h"

namespace bertrain {
namespace {

std::vector<int64_t> key_of(int64_t kind, const Capacity& c) {
  return {kind, c.rows, c.slots, c.examples, c.targets};
}

Compiled compile(Backend& backend, std::unique_ptr<Recording> recording) {
  Compiled made;
  for (const Node* node : recording->graph().nodes()) {
    if (node->op == &kInput) made.inputs.emplace(node->name, node->outputs[0]);
  }
  made.program = backend.compile(recording->graph());
  made.recording = std::move(recording);
  return made;
}

const Array& field_of(const Batch& batch, std::string_view name, const ArrayType& type) {
  auto found = batch.arrays.find(name);
  check(found != batch.arrays.end(), fmt::format("the batch has no field {}", name));
  check(found->second.type == type, fmt::format("the batch's {} is {}, not {}", name,
                                                to_string(found->second.type), to_string(type)));
  return found->second;
}

void add_batch(const Schema& schema, const Batch& batch, Backend& backend, DeviceArrays& inputs) {
  for (const auto& [name, type] : batch_types(schema, batch.capacity)) {
    inputs["batch/" + name] = backend.put(field_of(batch, name, type), Placement::split);
  }
}

void add_weights(const std::vector<LossTerm>& terms, const Named<double>& normalisers,
                 const Batch& batch, Backend& backend, DeviceArrays& inputs) {
  for (const LossTerm& term : terms) {
    std::span<const float> raw = batch.arrays.at(term.weight).as<float>();
    double normaliser = normalisers.at(term.name);
    std::vector<float> weights;
    weights.reserve(raw.size());
    for (float w : raw) weights.push_back(static_cast<float>(w / normaliser));
    Array array = make_array<float>({static_cast<int64_t>(weights.size())}, weights);
    inputs["weight/" + term.name] = backend.put(array, Placement::split);
  }
}

}  // namespace

bool StepResult::finite() const { return std::isfinite(loss) && std::isfinite(gradient_norm); }

Named<double> normalisers(const std::vector<LossTerm>& terms, const std::vector<Batch>& micro,
                          Communicator* communicator) {
  std::vector<float> sums;
  for (const LossTerm& term : terms) {
    double sum = 0;
    for (const Batch& batch : micro) {
      auto found = batch.arrays.find(term.weight);
      check(found != batch.arrays.end(), fmt::format("the batch has no field {}", term.weight));
      for (float w : found->second.as<float>()) sum += w;
    }
    sums.push_back(static_cast<float>(sum));
  }
  if (communicator != nullptr) communicator->start_sum(sums)->wait();
  Named<double> result;
  for (size_t i = 0; i < terms.size(); ++i) {
    double total = static_cast<double>(sums[i]) + terms[i].epsilon;
    result.emplace(terms[i].name, total != 0 ? total : 1.0);
  }
  return result;
}

StepRunner::StepRunner(const Task& task, State& state, StepOptions options,
                       Communicator* communicator)
    : task_(task),
      state_(state),
      options_(std::move(options)),
      communicator_(communicator),
      terms_(task.terms()) {
  check(options_.optimizer != nullptr, "a training step needs an optimizer");
  check_schedule(options_.schedule);
}

Compiled& StepRunner::compiled(Kind kind, const Capacity& capacity) {
  Compiled& made = programs_[key_of(static_cast<int64_t>(kind), capacity)];
  if (made.program) return made;
  switch (kind) {
    case Kind::step:
      made = compile(state_.backend(), record_step(task_, options_, capacity));
      break;
    case Kind::micro:
      made = compile(state_.backend(), record_micro(task_, options_, capacity));
      break;
    case Kind::apply:
      made = compile(state_.backend(), record_apply(state_.parameters(), terms_, options_));
      break;
  }
  return made;
}

// Everything that a program takes but the batch: state, sums, keys and scalars of the step.
DeviceArrays StepRunner::inputs_of(const Compiled& program, uint64_t step) {
  Backend& backend = state_.backend();
  DeviceArrays inputs;
  for (const auto& [name, type] : program.inputs) {
    if (auto ours = state_.arrays().find(name); ours != state_.arrays().end()) {
      inputs.insert(*ours);
    } else if (name.starts_with("sum/")) {
      std::shared_ptr<DeviceArray>& sum = sums_[name];
      if (!sum) sum = backend.put(zeros(type), Placement::replicate);
      inputs.emplace(name, sum);
    }
  }
  for (const DropoutKey& key : program.recording->dropout_keys()) {
    Array value = dropout_key_value(key, options_.seed, step);
    inputs.emplace(key.input, backend.put(value, Placement::replicate));
  }
  float rate = rate_at(options_.schedule, step);
  for (const auto& [name, value] : options_.optimizer->scalars(step, rate)) {
    if (!program.inputs.contains("scalar/" + name)) continue;
    inputs.emplace("scalar/" + name, backend.put(scalar(value), Placement::replicate));
  }
  return inputs;
}

// Sums over the micro-batches, then the update: the outputs of the last program.
DeviceArrays StepRunner::run_micro(uint64_t step, const std::vector<Batch>& micro,
                                   const Named<double>& normalisers) {
  Backend& backend = state_.backend();
  for (const Batch& batch : micro) {
    leave_if_stopped();  // whatever the backend looks at
    Compiled& program = compiled(Kind::micro, batch.capacity);
    DeviceArrays inputs = inputs_of(program, step);
    add_batch(task_.schema(), batch, backend, inputs);
    add_weights(terms_, normalisers, batch, backend, inputs);
    for (auto& [name, sum] : program.program->run(std::move(inputs))) sums_[name] = sum;
  }
  leave_if_stopped();
  Compiled& program = compiled(Kind::apply, {});
  return program.program->run(inputs_of(program, step));
}

StepResult StepRunner::run(uint64_t step, const std::vector<Batch>& micro) {
  check(!micro.empty(), "a step needs a batch");
  Backend& backend = state_.backend();
  Named<double> normaliser = normalisers(terms_, micro, communicator_);
  DeviceArrays outputs;
  try {
    if (micro.size() == 1) {
      Compiled& program = compiled(Kind::step, micro[0].capacity);
      DeviceArrays inputs = inputs_of(program, step);
      add_batch(task_.schema(), micro[0], backend, inputs);
      add_weights(terms_, normaliser, micro[0], backend, inputs);
      outputs = program.program->run(std::move(inputs));
    } else {
      outputs = run_micro(step, micro, normaliser);
    }
  } catch (...) {
    sums_.clear();  // half a batch may be in them
    throw;
  }

  // The new state first: what it replaces is dead.
  DeviceArrays updated, results;
  for (auto& [name, array] : outputs) {
    if (name.starts_with("sum/")) {
      sums_[name] = array;
    } else {
      (state_.arrays().contains(name) ? updated : results).emplace(name, array);
    }
  }
  state_.replace(std::move(updated));
  StepResult result;
  result.rate = rate_at(options_.schedule, step);
  for (auto& [name, array] : results) {
    double value = backend.get(*array).as<float>()[0];
    if (name == "gradient_norm") {
      result.gradient_norm = value;
    } else {
      result.losses.emplace(name.substr(std::string_view("loss/").size()), value);
      result.loss += value;
    }
  }
  return result;
}

ProgramFacts StepRunner::facts(const Capacity& capacity, bool accumulates) {
  return compiled(accumulates ? Kind::micro : Kind::step, capacity).program->facts();
}

EvaluationRunner::EvaluationRunner(const Task& task, const State& state, DType compute)
    : task_(task), state_(state), compute_(compute) {}

Compiled& EvaluationRunner::compiled(const Capacity& capacity) {
  Compiled& made = programs_[key_of(0, capacity)];
  if (!made.program) {
    made = compile(state_.backend(), record_evaluation(task_, compute_, capacity));
  }
  return made;
}

EvaluationRunner::Result EvaluationRunner::run(const Batch& batch) {
  Backend& backend = state_.backend();
  Compiled& program = compiled(batch.capacity);
  DeviceArrays inputs;
  for (const Parameter& p : program.recording->parameters()) {
    auto array = state_.arrays().find(p.name);
    check(array != state_.arrays().end(), fmt::format("no state is named {}", p.name));
    inputs.insert(*array);
  }
  add_batch(task_.schema(), batch, backend, inputs);
  Result result;
  for (auto& [name, array] : program.program->run(std::move(inputs))) {
    size_t slash = name.find('/');
    Named<Array>& kind = name.starts_with("loss/") ? result.losses : result.predictions;
    kind.emplace(name.substr(slash + 1), backend.get(*array));
  }
  return result;
}

ProgramFacts EvaluationRunner::facts(const Capacity& capacity) {
  return compiled(capacity).program->facts();
}

}  // namespace bertrain
