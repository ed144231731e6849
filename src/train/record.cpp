// One training step as a program: losses, gradients, sums over replicas and ranks, clip, update.
#include "train/record.h"

#include <algorithm>

#include "base/error.h"
#include "model/bert.h"
#include "optim/clip.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

// The task's model on the batch's inputs.
Outputs record_model(Recording& r, const Task& task, const Capacity& capacity) {
  Inputs batch;
  for (const auto& [name, type] : batch_types(task.schema(), capacity)) {
    batch.emplace(name, r.graph().input("batch/" + name, type, Placement::split));
  }
  Outputs outputs = task.build(r.scope(), batch);
  for (const LossTerm& term : task.terms()) {
    check(outputs.losses.contains(term.name), fmt::format("no loss is named {}", term.name));
  }
  return outputs;
}

// Σ weight · loss of each term, f32 []: the weights carry the normaliser of the global batch.
Named<Tensor> record_losses(Recording& r, const Task& task, const Outputs& outputs) {
  Named<Tensor> sums;
  for (const LossTerm& term : task.terms()) {
    Tensor values = outputs.losses.at(term.name);  // [E] or [M]
    Tensor weight = r.graph().input("weight/" + term.name, values.type(), Placement::split);
    sums.emplace(term.name, reduce_sum(values * weight, {0}));
  }
  return sums;
}

// Those that the optimizer updates, in their order.
std::vector<Parameter> learning(const std::vector<Parameter>& parameters,
                                const StepOptions& options) {
  std::vector<Parameter> result;
  for (const Parameter& p : parameters) {
    if (options.optimizer->learns(p)) result.push_back(p);
  }
  check(!result.empty(), "a step that updates nothing");
  return result;
}

struct Gradients {
  Tensors of_parameters;  // in the order of the parameters
  Tensor rows_squared;    // f32 []: Σ² of the un-summed rows of the word table, if asked for
};

bool counts_rows(const std::vector<Parameter>& parameters, const StepOptions& options) {
  return options.clip_norm_rows &&
         std::any_of(parameters.begin(), parameters.end(),
                     [](const Parameter& p) { return p.name == kWordTable; });
}

Gradients record_gradients(const Recording& r, const Named<Tensor>& losses,
                           const std::vector<Parameter>& parameters, const StepOptions& options) {
  bool with_rows = counts_rows(parameters, options);
  Tensor total;
  for (const auto& [name, loss] : losses) total = total ? total + loss : loss;
  Tensors wanted;
  for (const Parameter& p : parameters) wanted.push_back(p.master);
  if (with_rows) {
    Tensor rows = r.marked(kWordRows);
    check(static_cast<bool>(rows), "clip_norm_rows needs a model that marks its word rows");
    wanted.push_back(rows);
  }
  Gradients result{gradients(total, wanted), {}};
  if (with_rows) {
    result.rows_squared = sum_of_squares({result.of_parameters.back()});
    result.of_parameters.pop_back();
  }
  return result;
}

// Clip and update from the gradients of the whole global batch; new values under the old names.
void record_update(Graph& graph, const std::vector<Parameter>& parameters, Gradients gradients,
                   const StepOptions& options) {
  Tensors counted;
  for (size_t i = 0; i < parameters.size(); ++i) {
    Tensor& g = gradients.of_parameters[i];
    TurnGuard turn(graph, pass_of("exchange", parameters[i].turn));
    if (options.distributed) g = all_reduce_sum(g);
    if (!gradients.rows_squared || parameters[i].name != kWordTable) counted.push_back(g);
  }
  Tensor squared = sum_of_squares(counted);
  if (Tensor rows = gradients.rows_squared) {
    squared = squared + (options.distributed ? all_reduce_sum(rows) : rows);
  }
  Tensor norm = sqrt(squared);
  Tensor scale = clip_scale(norm, options.clip_norm);

  Named<Tensor> scalars;
  for (const auto& [name, value] : options.optimizer->scalars(0, 0)) {
    scalars.emplace(name, graph.input("scalar/" + name, {DType::f32, {}}));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    std::string before = graph.enter(p.name);
    TurnGuard turn(graph, pass_of("update", p.turn));
    Named<Tensor> slots;
    for (const auto& [suffix, shape] : options.optimizer->slots(p)) {
      slots.emplace(suffix, graph.input(p.name + "/" + suffix, {DType::f32, shape}));
    }
    Optimizer::Update update =
        options.optimizer->update(p, gradients.of_parameters[i], slots, scalars, scale);
    graph.output(p.name, update.param);
    for (const auto& [suffix, value] : update.slots) graph.output(p.name + "/" + suffix, value);
    graph.enter(before);
  }
  graph.output("gradient_norm", norm);
}

void output_loss(Graph& graph, const std::string& name, Tensor loss, const StepOptions& options) {
  graph.output("loss/" + name, options.distributed ? all_reduce_sum(loss) : loss);
}

// sum/NAME + value, in the memory of sum/NAME.
void add_into(Graph& graph, const std::string& name, Tensor value) {
  Tensor sum = graph.input("sum/" + name, value.type());
  graph.output("sum/" + name, sum + value);
}

// sum/NAME of the micro-batches, zero for the next step.
Tensor take_sum(Graph& graph, const std::string& name, const Shape& shape) {
  Tensor sum = graph.input("sum/" + name, {DType::f32, shape});
  graph.output("sum/" + name, full(graph, shape, 0));
  return sum;
}

}  // namespace

Named<ArrayType> batch_types(const Schema& schema, const Capacity& c) {
  const Shape slots = {c.rows, c.slots};
  Named<ArrayType> types;
  for (const char* name : {"input_ids", "segment_ids", "position", "example", "is_key"}) {
    types.emplace(name, ArrayType{DType::i32, slots});
  }
  types.emplace("number", ArrayType{DType::u32, slots});
  types.emplace("first_slot", ArrayType{DType::i32, {c.examples}});
  types.emplace("example_number", ArrayType{DType::u32, {c.examples}});
  types.emplace("example_weight", ArrayType{DType::f32, {c.examples}});
  if (c.targets > 0) types.emplace("target_slot", ArrayType{DType::i32, {c.targets}});
  for (const auto& [name, field] : schema) {
    Shape shape;
    if (field.axis == Axis::slot) shape = slots;
    if (field.axis == Axis::example) shape = {c.examples};
    if (field.axis == Axis::target) shape = {c.targets};
    for (int64_t size : field.rest) shape.push_back(size);
    check(types.emplace(name, ArrayType{field.dtype, std::move(shape)}).second,
          fmt::format("the schema's {} is a field of the packer", name));
  }
  return types;
}

std::unique_ptr<Recording> record_step(const Task& task, const StepOptions& options,
                                       const Capacity& capacity) {
  auto r = std::make_unique<Recording>(Recording::Options{true, options.compute});
  Outputs outputs = record_model(*r, task, capacity);
  Named<Tensor> losses = record_losses(*r, task, outputs);
  std::vector<Parameter> updated = learning(r->parameters(), options);
  Gradients gradients = record_gradients(*r, losses, updated, options);
  record_update(r->graph(), updated, std::move(gradients), options);
  for (const auto& [name, loss] : losses) output_loss(r->graph(), name, loss, options);
  return r;
}

std::unique_ptr<Recording> record_micro(const Task& task, const StepOptions& options,
                                        const Capacity& capacity) {
  auto r = std::make_unique<Recording>(Recording::Options{true, options.compute});
  Outputs outputs = record_model(*r, task, capacity);
  Named<Tensor> losses = record_losses(*r, task, outputs);
  std::vector<Parameter> summed = learning(r->parameters(), options);
  Gradients gradients = record_gradients(*r, losses, summed, options);
  for (size_t i = 0; i < summed.size(); ++i) {
    TurnGuard turn(r->graph(), pass_of("sum", summed[i].turn));
    add_into(r->graph(), summed[i].name, gradients.of_parameters[i]);
  }
  if (gradients.rows_squared) add_into(r->graph(), "rows", gradients.rows_squared);
  for (const auto& [name, loss] : losses) add_into(r->graph(), "loss/" + name, loss);
  return r;
}

std::unique_ptr<Recording> record_apply(const std::vector<Parameter>& parameters,
                                        const std::vector<LossTerm>& terms,
                                        const StepOptions& options) {
  auto r = std::make_unique<Recording>(Recording::Options{true, options.compute});
  Graph& graph = r->graph();
  std::vector<Parameter> ours = learning(parameters, options);
  Gradients gradients;
  for (Parameter& p : ours) {
    TurnGuard turn(graph, pass_of("clear", p.turn));
    p.master = graph.input(p.name, {DType::f32, p.shape});
    gradients.of_parameters.push_back(take_sum(graph, p.name, p.shape));
  }
  if (counts_rows(ours, options)) gradients.rows_squared = take_sum(graph, "rows", {});
  record_update(graph, ours, std::move(gradients), options);
  for (const LossTerm& term : terms) {
    output_loss(graph, term.name, take_sum(graph, "loss/" + term.name, {}), options);
  }
  return r;
}

std::unique_ptr<Recording> record_evaluation(const Task& task, DType compute,
                                             const Capacity& capacity) {
  auto r = std::make_unique<Recording>(Recording::Options{false, compute});
  Outputs outputs = record_model(*r, task, capacity);
  for (const auto& [name, values] : outputs.losses) {
    r->graph().output("loss/" + name, values, Placement::split);
  }
  for (const auto& [name, values] : outputs.predictions) {
    r->graph().output("prediction/" + name, values, Placement::split);
  }
  return r;
}

std::vector<Parameter> parameters_of(const Task& task) {
  Recording r({false, DType::f32});
  record_model(r, task, {1, 1, 1, task.max_targets() > 0 ? 1 : 0});
  std::vector<Parameter> parameters = r.parameters();
  for (Parameter& p : parameters) p.master = {};
  return parameters;
}

}  // namespace bertrain
