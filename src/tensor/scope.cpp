// Parameters and dropout keys by path, and the values the host gives them.
#include "tensor/scope.h"

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

std::string joined(const std::string& path, std::string_view child) {
  return path.empty() ? std::string(child) : path + "/" + std::string(child);
}

}  // namespace

Array dropout_key_value(const DropoutKey& key, uint64_t seed, uint64_t step) {
  Block block = threefry(key_of(seed, key.path, key.call),
                         {static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)});
  return make_array<uint32_t>({2}, std::vector<uint32_t>{block[0], block[1]});
}

Array initial_value(const Parameter& parameter, uint64_t seed) {
  Block key = key_of(seed, parameter.name, 0);
  return make_array({DType::f32, parameter.shape}, [&](std::span<std::byte> bytes) {
    auto* values = reinterpret_cast<float*>(bytes.data());
    int64_t count = elements(parameter.shape);
    switch (parameter.init.kind) {
      case Init::zeros:
        return;
      case Init::ones:
        std::fill(values, values + count, 1.0f);
        return;
      case Init::truncated_normal:
        // Each value is a function of its own index, so any split over threads gives the same bits.
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < count; ++i) {
          double normal = truncated_normal(key, static_cast<uint64_t>(i));
          values[i] = static_cast<float>(normal * parameter.init.stddev);
        }
    }
  });
}

Recording::Recording(Options options) : options_(options) {}

Scope Recording::scope() { return Scope(this, ""); }

void Recording::mark(std::string name, Tensor value) {
  check(!marked_.contains(name), fmt::format("'{}' is marked twice", name));
  marked_.emplace(std::move(name), value);
}

Tensor Recording::marked(std::string_view name) const {
  auto found = marked_.find(name);
  return found == marked_.end() ? Tensor() : found->second;
}

Scope Scope::operator/(std::string_view child) const {
  return Scope(recording_, joined(path_, child));
}

Tensor Scope::param(std::string_view name, Shape shape, Init init) const {
  Recording& r = *recording_;
  std::string full = joined(path_, name);
  auto found = r.parameter_index_.find(full);
  if (found == r.parameter_index_.end()) {
    Tensor master = graph().input(full, {DType::f32, shape});
    Guard guard(graph(), path_);
    r.computed_.push_back(convert(master, r.options_.compute));
    found = r.parameter_index_.emplace(full, r.parameters_.size()).first;
    r.parameters_.push_back({std::move(full), std::move(shape), init, master, graph().turn()});
  } else if (const Parameter& known = r.parameters_[found->second]; known.shape != shape) {
    throw error("parameter '{}' is {} here, but it was declared as {}", full, to_string(shape),
                to_string(known.shape));
  }
  return r.computed_[found->second];
}

Tensor Scope::dropout_key() const {
  if (!training()) return {};
  Recording& r = *recording_;
  uint32_t call = r.calls_[path_]++;
  DropoutKey key{fmt::format("dropout_key/{}/{}", path_, call), path_, call};
  Tensor input = graph().input(key.input, {DType::u32, {2}});
  r.keys_.push_back(std::move(key));
  return input;
}

bool Scope::training() const { return recording_->options().training; }

Scope::Guard::Guard(Graph& graph, std::string path)
    : graph_(graph), before_(graph.enter(std::move(path))) {}

Scope::Guard::~Guard() { graph_.enter(std::move(before_)); }

}  // namespace bertrain
