// Batches → predictions → rows → scores.
#include "train/evaluate.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "data/prefetch.h"
#include "train/signals.h"
#include "train/training_stream.h"

namespace bertrain {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A line where nothing was heard for long.
class Heartbeat {
 public:
  Heartbeat(const Task& task, const std::string& split) : split_(split) {
    if (std::optional<uint64_t> count = task.count(split)) of_ = fmt::format(" of {}", *count);
  }
  void rows(uint64_t done) {
    if (silence_.is_long()) log_line("{}: {}{} rows are done", split_, done, of_);
  }

 private:
  std::string split_, of_;
  Silence silence_{30, 30};
};

// A loss that is no number makes every other score worthless.
void require_finite(const Json& scores, const std::string& split) {
  for (const auto& [name, value] : scores.items()) {
    if (!name.ends_with("loss") || !value.is_number_float()) continue;
    if (std::isfinite(value.get<double>())) continue;
    throw error(
        "{}: {} is {}: the model's weights are too large for a finite loss; a lower "
        "--learning_rate or an earlier checkpoint helps",
        split, name, value.get<double>());
  }
}

}  // namespace

EvaluateOptions evaluation_of(const Task& task, const Backend& backend, EvaluationRunner& runner,
                              std::string split, const EvaluationSize& size) {
  if (size.may_be_sampled) {
    require_batch_memory(task, split, size.choice, {.flag = size.flag, .one_pass = true});
  }
  EvaluateOptions options;
  options.batch_size = size.choice.batch_size;
  options.pack.replicas = backend.replicas();
  options.pack.capacities =
      evaluation_capacities(task, backend, runner, size.may_be_sampled ? split : "", size.choice);
  options.split = std::move(split);
  return options;
}

EvaluationResult evaluate(const Task& task, EvaluationRunner& runner,
                          const EvaluateOptions& options, bool score,
                          const std::function<void(const Example&)>& on_row) {
  Clock::time_point start = Clock::now();
  Heartbeat heartbeat(task, options.split);
  EvaluationResult result;
  std::unique_ptr<Rows> rows = task.rows();
  std::unique_ptr<Scorer> scorer = score ? task.scorer() : nullptr;
  auto take_finished = [&] {
    while (std::optional<Example> row = rows->next()) {
      ++result.rows;
      if (scorer) scorer->add(*row);
      if (on_row) on_row(*row);
    }
  };
  PackOptions pack = options.pack;
  pack.keep_notes = true;  // rows may need what the model does not: texts, ids
  BatchStream stream = prefetch(batches(stoppable(task.examples(options.split)), task.schema(),
                                        options.batch_size, std::move(pack)),
                                2);
  for (int64_t n = 0; options.max_batches == 0 || n < options.max_batches; ++n) {
    leave_if_stopped();
    std::optional<std::vector<Batch>> batch = stream->next();
    if (!batch) break;
    auto width = static_cast<size_t>(runner.replicas());
    for (size_t first = 0; first < batch->size(); first += width) {
      auto group = std::span<const Batch>(*batch).subspan(first, width);
      std::vector<EvaluationRunner::Result> values = runner.run(group);
      for (size_t i = 0; i < width; ++i) rows->add(group[i], values[i].predictions);
      take_finished();
    }
    heartbeat.rows(result.rows);
  }
  take_finished();
  if (scorer) {
    result.scores = scorer->result();
    result.details = scorer->details();
    require_finite(result.scores, options.split);
    if (std::string doubt = scorer->doubt(); !doubt.empty()) {
      log_warning("{}: {}; `bertrain doctor RUN` looks for the reason", options.split, doubt);
    }
  }
  result.seconds = seconds_since(start);
  return result;
}

std::vector<std::string> dev_splits(std::vector<std::string> splits) {
  std::erase_if(splits, [](const std::string& split) {
    return split != "dev" && !split.starts_with("dev_");
  });
  return splits;
}

Json scores_of_splits(const std::vector<std::string>& splits,
                      const std::function<Json(const std::string&)>& of) {
  Json all = Json::object();
  for (const std::string& split : splits) {
    std::string prefix = split == splits.front() ? "" : split.substr(split.find('_') + 1) + "_";
    Json scores = of(split);
    for (const auto& [name, score] : scores.items()) all[prefix + name] = score;
  }
  return all;
}

}  // namespace bertrain
