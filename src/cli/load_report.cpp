// The sentences about loaded, new and unused tensors.
#include "cli/load_report.h"

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

}  // namespace

void load_weights(State& state, const std::string& uri, bool complete, bool new_head) {
  LoadReport report = state.load_parameters(*open_weights(uri), new_head);
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
                some_of(report.resized));
  }
  if (complete) return;
  log_line("{}: {} of the model's {} parameters loaded", uri, report.loaded.size(),
           state.parameters().size());
  if (!report.missing.empty()) {
    log_line("{} are not in it and start anew: {}", report.missing.size(), some_of(report.missing));
  }
  if (!report.resized.empty()) {
    log_line("{} have another shape in it and start anew: {}", report.resized.size(),
             some_of(report.resized));
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
