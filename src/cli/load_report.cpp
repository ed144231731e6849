// The sentences about loaded, new and unused tensors.
#include "cli/load_report.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "cli/model_source.h"

namespace bertrain {
namespace {

// A pooler is missing where a model was trained without sentence pairs; it can be learnt anew.
bool may_be_new(const std::string& name) {
  return !name.starts_with("bert/") || name.starts_with("bert/pooler/");
}

// The number of the encoder's layer that the tensor belongs to; none: it is no layer's.
std::optional<int64_t> layer_of(std::string_view name) {
  constexpr std::string_view kStart = "bert/encoder/layer_";
  if (!name.starts_with(kStart)) return std::nullopt;
  int64_t layer = 0;
  auto read = std::from_chars(name.data() + kStart.size(), name.data() + name.size(), layer);
  if (read.ec != std::errc() || layer < 0) return std::nullopt;
  return layer;
}

// Half of a model computes something else than the model: layers that the shape has no place for are
// not passed over as heads of other tasks are.
void refuse_more_layers(const State& state, const LoadReport& report, const std::string& uri) {
  int64_t layers = 0, there = 0;
  for (const Parameter& p : state.parameters()) {
    layers = std::max(layers, layer_of(p.name).value_or(-1) + 1);
  }
  std::vector<std::string> more;
  for (const std::string& name : report.unused) {
    int64_t layer = layer_of(name).value_or(-1);
    if (layer < layers) continue;
    there = std::max(there, layer + 1);
    more.push_back(name);
  }
  if (more.empty()) return;
  throw error(
      "{}: {} layers are in it, and the model's configuration has {} (num_hidden_layers); it has "
      "no place for {}",
      uri, there, layers, some_of(more));
}

// The names with both shapes.
std::vector<std::string> with_shapes(const std::vector<std::string>& names, const State& state,
                                     const CheckpointReader& file) {
  std::vector<std::string> told;
  for (const Parameter& p : state.parameters()) {
    if (std::find(names.begin(), names.end(), p.name) == names.end()) continue;
    told.push_back(fmt::format("{} ({} there, {} here)", p.name,
                               to_string(file.tensors().at(p.name).shape), to_string(p.shape)));
  }
  return told;
}

}  // namespace

void load_weights(State& state, const std::string& uri, bool complete, bool new_head) {
  bool masked_lm = std::ranges::any_of(state.parameters(), [](const Parameter& p) {
    return p.name.starts_with("cls/predictions/");
  });
  std::unique_ptr<CheckpointReader> file = open_weights(uri, masked_lm);
  LoadReport report = state.load_parameters(*file, new_head);
  refuse_more_layers(state, report, uri);
  std::vector<std::string> lost;
  for (const std::string& name : report.missing) {
    if (complete || !may_be_new(name)) lost.push_back(name);
  }
  if (!lost.empty()) {
    throw error("{}: {} of the model's {} parameters are not in it: {}", uri, lost.size(),
                state.parameters().size(), some_of(lost));
  }
  if (complete && !report.resized.empty()) {
    throw error("{}: {} parameters have another shape there: {}", uri, report.resized.size(),
                some_of(with_shapes(report.resized, state, *file)));
  }
  if (complete) return;
  log_line("{}: {} of the model's {} parameters loaded", uri, report.loaded.size(),
           state.parameters().size());
  if (!report.missing.empty()) {
    log_line("{} are not in it and start anew: {}", report.missing.size(), some_of(report.missing));
  }
  if (!report.resized.empty()) {
    log_line("{} have another shape in it and start anew: {}", report.resized.size(),
             some_of(with_shapes(report.resized, state, *file)));
  }
  if (!report.relabelled.empty()) {
    log_line("{} are for other labels in it and start anew: {}", report.relabelled.size(),
             some_of(report.relabelled));
  }
  if (!report.unused.empty()) {
    log_line("{} of its tensors are not used: {}", report.unused.size(), some_of(report.unused));
  }
}

}  // namespace bertrain
