// Compiling a graph into calls, and running them.
#include "backend/cpu/program.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "backend/cpu/kernels/denormals.h"
#include "backend/cpu/memory_plan.h"
#include "base/error.h"
#include "tensor/ops/op_table.h"

namespace bertrain {

CpuArray& cpu_array(const DeviceArray& array) {
  auto* own = dynamic_cast<const CpuArray*>(&array);
  check(own != nullptr, "an array of another backend");
  check(own->alive(), "this array was replaced by a program's output and is dead");
  return const_cast<CpuArray&>(*own);
}

CpuProgram::CpuProgram(Graph expanded, RunContext context)
    : graph_(std::move(expanded)), context_(std::move(context)) {
  auto start = std::chrono::steady_clock::now();
  for (const Node* node : graph_.nodes()) {
    if (node->op == &kInput) given_.push_back(node);
  }
  ValueLayout layout(graph_);
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const Output& o = graph_.outputs()[i];
    auto donor = std::find(given_.begin(), given_.end(), layout.donor(i));
    made_.push_back({o.name, o.value.type(),
                     layout.root_of(layout.value(o.value.node(), o.value.output())),
                     donor == given_.end() ? -1 : static_cast<int>(donor - given_.begin()),
                     layout.made_in_place(i)});
  }
  place_roots(layout);
  prepare_calls(layout);
  std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  facts_.compile_seconds = spent.count();
}

void CpuProgram::place_roots(const ValueLayout& layout) {
  places_.resize(static_cast<size_t>(layout.value_count()));
  std::vector<Lifetime> lifetimes;
  std::vector<size_t> in_arena;
  for (int v = 0; v < layout.value_count(); ++v) {
    root_.push_back(layout.root_of(v));
    if (root_.back() != v) continue;
    const ValueLayout::Root& root = layout.root(v);
    Place& place = places_[static_cast<size_t>(v)];
    if (root.input) {
      place.given =
          static_cast<int>(std::find(given_.begin(), given_.end(), root.input) - given_.begin());
    } else if (root.constant) {
      place.constant = root.constant->value.bytes.get();
    } else if (root.output >= 0) {
      place.given = made_[static_cast<size_t>(root.output)].donor;
      if (place.given < 0) place.made = root.output;
    } else {
      lifetimes.push_back({root.bytes, root.first, root.last});
      in_arena.push_back(static_cast<size_t>(v));
    }
  }
  MemoryPlan plan = plan_memory(lifetimes);
  for (size_t i = 0; i < in_arena.size(); ++i) {
    places_[in_arena[i]].arena = static_cast<int64_t>(plan.offsets[i]);
  }
  arena_bytes_ = plan.bytes;
  for (const Node* node : given_) {
    facts_.arguments +=
        static_cast<uint64_t>(elements(node->outputs[0].shape)) * size_of(node->outputs[0].dtype);
  }
  facts_.temporary = plan.bytes;
  facts_.peak = facts_.arguments + facts_.temporary;
  for (const Made& made : made_) {
    if (made.donor < 0)
      facts_.peak += static_cast<uint64_t>(elements(made.type.shape)) * size_of(made.type.dtype);
  }
}

void CpuProgram::prepare_calls(const ValueLayout& layout) {
  bool overwritten = false;
  for (const Node* node : graph_.nodes()) {
    if (node->op == &kInput || node->op == &kConstant || is_view(*node)) continue;
    Binding binding{*node, {}, {}};
    for (Tensor t : node->inputs) {
      binding.inputs.push_back(t ? layout.value(t.node(), t.output()) : -1);
    }
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      binding.outputs.push_back(layout.value(node, static_cast<int>(i)));
      const Place& place =
          places_[static_cast<size_t>(root_[static_cast<size_t>(binding.outputs.back())])];
      overwritten = overwritten || place.given >= 0;
    }
    if (!overwritten) first_overwrite_ = steps_.size() + 1;
    const Lowering* lowering = find_lowering(*node);
    steps_.push_back({node, lowering ? lowering->prepare(binding) : prepare_cold(binding), -1, {}});
    if (node->op == &kAllReduceSum && context_.communicator != nullptr) {
      check(node->outputs[0].dtype == DType::f32, "sums over processes are f32");
      steps_.back().starts = static_cast<int>(exchanges_.size());
      exchanges_.push_back(
          {binding.outputs[0], static_cast<size_t>(elements(node->outputs[0].shape))});
    }
    note_needs(binding);
    facts_.flops += flops_of(*node);
    for (const ArrayType& type : node->outputs) {
      facts_.bytes +=
          static_cast<double>(elements(type.shape)) * static_cast<double>(size_of(type.dtype));
    }
  }
}

// What the last step reads and others are still adding to must be waited for.
void CpuProgram::note_needs(const Binding& binding) {
  for (size_t i = 0; i < exchanges_.size(); ++i) {
    if (exchanges_[i].awaited || steps_.back().starts == static_cast<int>(i)) continue;
    const int root = root_[static_cast<size_t>(exchanges_[i].value)];
    for (int value : binding.inputs) {
      if (exchanges_[i].awaited || value < 0 || root_[static_cast<size_t>(value)] != root) continue;
      exchanges_[i].awaited = true;
      steps_.back().needs.push_back(static_cast<int>(i));
    }
  }
}

std::vector<CpuArray*> CpuProgram::bind(const DeviceArrays& inputs) const {
  std::vector<CpuArray*> bound;
  for (const Node* node : given_) {
    auto found = inputs.find(node->name);
    if (found == inputs.end()) throw error("input '{}' of the program is missing", node->name);
    bound.push_back(&cpu_array(*found->second));
    if (bound.back()->type() != node->outputs[0]) {
      throw error("input '{}' must be {}, but is {}", node->name, to_string(node->outputs[0]),
                  to_string(bound.back()->type()));
    }
  }
  for (const auto& [name, array] : inputs) {
    if (!graph_.find_input(name)) throw error("the program has no input '{}'", name);
  }
  return bound;
}

DeviceArrays CpuProgram::run(DeviceArrays inputs, Named<double>* seconds) {
  omp_set_num_threads(context_.threads);
  flush_denormals();
  std::vector<CpuArray*> given = bind(inputs);
  if (context_.arena->size() < arena_bytes_) context_.arena->reserve(arena_bytes_);
  std::vector<std::shared_ptr<CpuArray>> fresh(made_.size());
  for (size_t i = 0; i < made_.size(); ++i) {
    if (made_[i].donor < 0 || !made_[i].in_place)
      fresh[i] = std::make_shared<CpuArray>(made_[i].type);
  }
  std::vector<std::byte*> at(root_.size());
  for (size_t v = 0; v < root_.size(); ++v) {
    const Place& place = places_[static_cast<size_t>(root_[v])];
    if (place.arena >= 0)
      at[v] = context_.arena->data() + place.arena;
    else if (place.given >= 0)
      at[v] = given[static_cast<size_t>(place.given)]->data();
    else if (place.made >= 0)
      at[v] = fresh[static_cast<size_t>(place.made)]->data();
    else
      at[v] = const_cast<std::byte*>(place.constant);  // never an output of a call
  }
  run_steps(Addresses(at.data()), seconds);
  DeviceArrays results;
  for (size_t i = 0; i < made_.size(); ++i) {
    const Made& made = made_[i];
    if (!made.in_place && fresh[i]->byte_size() > 0) {
      std::memcpy(fresh[i]->data(), at[static_cast<size_t>(made.value)], fresh[i]->byte_size());
    }
  }
  for (size_t i = 0; i < made_.size(); ++i) {
    if (made_[i].donor >= 0) {
      std::shared_ptr<HugeBuffer> memory = given[static_cast<size_t>(made_[i].donor)]->surrender();
      if (made_[i].in_place)
        fresh[i] = std::make_shared<CpuArray>(made_[i].type, std::move(memory));
    }
    results[made_[i].name] = fresh[i];
  }
  return results;
}

// Exchanges of gradients run beside the steps, and are given the chance to progress between them.
void CpuProgram::run_steps(const Addresses& addresses, Named<double>* seconds) {
  std::vector<std::unique_ptr<Pending>> pending(exchanges_.size());
  const auto finish = [&](size_t exchange) {
    if (pending[exchange]) pending[exchange]->wait();
    pending[exchange].reset();
  };
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (context_.between_calls && i < first_overwrite_) context_.between_calls();
    auto start = std::chrono::steady_clock::now();
    for (int needed : step.needs) finish(static_cast<size_t>(needed));
    try {
      step.call(addresses);
    } catch (const Error& e) {
      throw e.within(step.node->scope.empty() ? step.node->op->name : step.node->scope);
    }
    if (step.starts >= 0) {
      const Exchange& exchange = exchanges_[static_cast<size_t>(step.starts)];
      pending[static_cast<size_t>(step.starts)] =
          context_.communicator->start_sum({addresses.get<float>(exchange.value), exchange.count});
    }
    for (const auto& p : pending) {
      if (p) p->poll();
    }
    if (!seconds) continue;
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    (*seconds)[std::string(step.node->op->name)] += spent.count();
  }
  for (size_t i = 0; i < pending.size(); ++i) finish(i);
}

Named<double> CpuProgram::profile(DeviceArrays inputs) {
  Named<double> seconds;
  run(std::move(inputs), &seconds);
  return seconds;
}

}  // namespace bertrain
