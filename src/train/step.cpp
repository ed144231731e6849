// The host's side of a step: inputs for the programs, micro-batches, results.
#include "train/step.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/long_call.h"
#include "train/signals.h"

namespace bertrain {
namespace {

std::vector<int64_t> key_of(int64_t kind, const Capacity& c) {
  return {kind, c.rows, c.slots, c.examples, c.targets};
}

Compiled with_inputs(const State& state, std::unique_ptr<Recording> recording) {
  Compiled made;
  for (const Node* node : recording->graph().nodes()) {
    if (node->op != &kInput) continue;
    if (state.holds(node->name)) {
      made.from_state.push_back(node->name);
    } else {
      made.inputs.emplace(node->name, node->outputs[0]);
    }
  }
  made.recording = std::move(recording);
  return made;
}

void compile(const State& state, Compiled& made) {
  LongCall long_call("compiling a program");
  made.program = state.backend().compile(made.recording->graph());
}

const Array& field_of(const Batch& batch, std::string_view name, const ArrayType& type) {
  auto found = batch.arrays.find(name);
  check(found != batch.arrays.end(), fmt::format("the batch has no field {}", name));
  check(found->second.type == type, fmt::format("the batch's {} is {}, not {}", name,
                                                to_string(found->second.type), to_string(type)));
  return found->second;
}

// One part for each replica.
using Group = std::span<const Batch>;

void put_batch(const Schema& schema, Group group, Backend& backend, DeviceArrays& inputs) {
  for (const auto& [name, type] : batch_types(schema, group.front().capacity)) {
    std::vector<Array> parts;
    for (const Batch& batch : group) parts.push_back(field_of(batch, name, type));
    inputs["batch/" + name] = backend.put(join_parts(parts), Placement::split);
  }
}

void put_weights(const std::vector<LossTerm>& terms, const Named<double>& normalisers, Group group,
                 Backend& backend, DeviceArrays& inputs) {
  for (const LossTerm& term : terms) {
    double normaliser = normalisers.at(term.name);
    std::vector<float> weights;
    for (const Batch& batch : group) {
      for (float w : batch.arrays.at(term.weight).as<float>()) {
        weights.push_back(static_cast<float>(w / normaliser));
      }
    }
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
  bool ranks = communicator != nullptr && communicator->size() > 1;
  options_.distributed = options_.distributed || ranks || state.backend().replicas() > 1;
  check_schedule(options_.schedule);
}

Compiled& StepRunner::recorded(Kind kind, const Capacity& capacity) {
  Compiled& made = programs_[key_of(static_cast<int64_t>(kind), capacity)];
  if (made.recording) return made;
  switch (kind) {
    case Kind::step:
      made = with_inputs(state_, record_step(task_, options_, capacity));
      break;
    case Kind::micro:
      made = with_inputs(state_, record_micro(task_, options_, capacity));
      break;
    case Kind::apply:
      made = with_inputs(state_, record_apply(state_.parameters(), terms_, options_));
      break;
  }
  return made;
}

Compiled& StepRunner::compiled(Kind kind, const Capacity& capacity) {
  Compiled& made = recorded(kind, capacity);
  if (!made.program) compile(state_, made);
  return made;
}

// Keys and scalars into the program's inputs; `sent` are those that went to a program of this step
// before.
void StepRunner::send_constants(const Compiled& program, uint64_t step, DeviceArrays& sent,
                                DeviceArrays& inputs) {
  Backend& backend = state_.backend();
  const auto add = [&](const std::string& name, auto&& value) {
    if (!program.inputs.contains(name)) return;
    std::shared_ptr<DeviceArray>& array = sent[name];
    if (!array) array = backend.put(value(), Placement::replicate);
    inputs.emplace(name, array);
  };
  for (const DropoutKey& key : program.recording->dropout_keys()) {
    add(key.input, [&] { return dropout_key_value(key, options_.seed, step); });
  }
  float rate = rate_at(options_.schedule, step);
  for (const auto& [name, value] : options_.optimizer->scalars(step, rate)) {
    add("scalar/" + name, [&, number = value] { return scalar(number); });
  }
  program.program->send_ahead(inputs);
}

SentStep StepRunner::send(uint64_t step, std::vector<Batch> micro) {
  Backend& backend = state_.backend();
  auto width = static_cast<size_t>(backend.replicas());
  check(!micro.empty() && micro.size() % width == 0, "a step needs a batch for every replica");
  SentStep sent{step, std::move(micro), {}, {}};
  Named<double> normaliser = normalisers(terms_, sent.micro, communicator_);
  bool whole = sent.micro.size() == width;
  DeviceArrays constants;
  for (size_t first = 0; first < sent.micro.size(); first += width) {
    Group group = Group(sent.micro).subspan(first, width);
    Compiled& program = compiled(whole ? Kind::step : Kind::micro, group.front().capacity);
    DeviceArrays& inputs = sent.groups.emplace_back();
    put_batch(task_.schema(), group, backend, inputs);
    put_weights(terms_, normaliser, group, backend, inputs);
    send_constants(program, step, constants, inputs);
    for (size_t i = 0; i < width; ++i) sent.micro[first + i].arrays.clear();
  }
  if (!whole) send_constants(compiled(Kind::apply, {}), step, constants, sent.apply);
  return sent;
}

DeviceArrays StepRunner::run(const Compiled& program, DeviceArrays inputs) {
  for (auto at = program.inputs.lower_bound("sum/");
       at != program.inputs.end() && at->first.starts_with("sum/"); ++at) {
    std::shared_ptr<DeviceArray>& sum = sums_[at->first];
    if (!sum) sum = state_.backend().put(zeros(at->second), Placement::replicate);
    inputs.emplace(at->first, sum);
  }
  return program.program->update(state_.device_state(), program.from_state, std::move(inputs));
}

// Sums over the groups, then the update: the outputs of the last program.
DeviceArrays StepRunner::run_groups(const SentStep& sent) {
  auto width = static_cast<size_t>(state_.backend().replicas());
  for (size_t i = 0; i < sent.groups.size(); ++i) {
    leave_if_stopped();  // whatever the backend looks at
    Compiled& program = compiled(Kind::micro, sent.micro[i * width].capacity);
    for (auto& [name, sum] : run(program, sent.groups[i])) sums_[name] = sum;
  }
  leave_if_stopped();
  return run(compiled(Kind::apply, {}), sent.apply);
}

void StepRunner::start(const SentStep& sent) {
  check(results_.empty(), "one step is started at a time");
  DeviceArrays outputs;
  try {
    outputs = sent.groups.size() == 1
                  ? run(compiled(Kind::step, sent.micro[0].capacity), sent.groups[0])
                  : run_groups(sent);
  } catch (...) {
    sums_.clear();  // half a batch may be in them
    throw;
  }
  for (auto& [name, array] : outputs) (name.starts_with("sum/") ? sums_ : results_)[name] = array;
  rate_ = rate_at(options_.schedule, sent.step);
}

StepResult StepRunner::finish() {
  check(!results_.empty(), "no step is started");
  DeviceArrays results = std::exchange(results_, {});
  StepResult result;
  result.rate = rate_;
  for (auto& [name, array] : results) {
    double value = state_.backend().get(*array).as<float>()[0];
    if (name == "gradient_norm") {
      result.gradient_norm = value;
    } else {
      result.losses.emplace(name.substr(std::string_view("loss/").size()), value);
      result.loss += value;
    }
  }
  return result;
}

StepResult StepRunner::run(uint64_t step, const std::vector<Batch>& micro) {
  start(send(step, micro));
  return finish();
}

ProgramFacts StepRunner::facts(const Capacity& capacity, bool accumulates) {
  return compiled(accumulates ? Kind::micro : Kind::step, capacity).program->facts();
}

uint64_t StepRunner::slots_beside(bool accumulates) const {
  return accumulates ? bytes_of(state_.types()) - bytes_of(state_.types(false)) : 0;
}

uint64_t StepRunner::peak(const Capacity& capacity, bool accumulates) {
  return facts(capacity, accumulates).peak + slots_beside(accumulates);
}

uint64_t StepRunner::inputs(const Capacity& capacity, bool accumulates) {
  Compiled& made = recorded(accumulates ? Kind::micro : Kind::step, capacity);
  uint64_t bytes = slots_beside(accumulates);
  for (const Node* node : made.recording->graph().nodes()) {
    if (node->op == &kInput) bytes += bytes_of({{node->name, node->outputs[0]}});
  }
  return bytes;
}

EvaluationRunner::EvaluationRunner(const Task& task, const State& state, DType compute)
    : task_(task), state_(state), compute_(compute) {}

Compiled& EvaluationRunner::compiled(const Capacity& capacity) {
  Compiled& made = programs_[key_of(0, capacity)];
  if (!made.program) {
    made = with_inputs(state_, record_evaluation(task_, compute_, capacity));
    compile(state_, made);
  }
  return made;
}

std::vector<EvaluationRunner::Result> EvaluationRunner::run(Group group) {
  Backend& backend = state_.backend();
  check(std::ssize(group) == replicas(), "every replica evaluates a part");
  Compiled& program = compiled(group.front().capacity);
  DeviceArrays inputs;
  add_arrays(state_.arrays(), program.from_state, inputs);
  put_batch(task_.schema(), group, backend, inputs);
  std::vector<Result> results(group.size());
  for (auto& [name, array] : program.program->run(std::move(inputs))) {
    std::string part_name = name.substr(name.find('/') + 1);
    std::vector<Array> parts = split_parts(backend.get(*array), replicas());
    for (size_t i = 0; i < results.size(); ++i) {
      Named<Array>& kind = name.starts_with("loss/") ? results[i].losses : results[i].predictions;
      kind.emplace(part_name, parts[i]);
    }
  }
  return results;
}

ProgramFacts EvaluationRunner::facts(const Capacity& capacity) {
  return compiled(capacity).program->facts();
}

}  // namespace bertrain
