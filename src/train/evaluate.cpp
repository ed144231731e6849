// Batches → predictions → rows → scores.
#include "train/evaluate.h"

#include <chrono>

#include "data/prefetch.h"
#include "train/signals.h"

namespace bertrain {

EvaluationResult evaluate(const Task& task, EvaluationRunner& runner,
                          const EvaluateOptions& options, bool score,
                          const std::function<void(const Example&)>& on_row) {
  auto start = std::chrono::steady_clock::now();
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
  BatchStream stream = prefetch(
      batches(task.examples(options.split), task.schema(), options.batch_size, std::move(pack)), 2);
  for (int64_t n = 0; options.max_batches == 0 || n < options.max_batches; ++n) {
    leave_if_stopped();
    std::optional<std::vector<Batch>> batch = stream->next();
    if (!batch) break;
    for (const Batch& part : *batch) {
      EvaluationRunner::Result values = runner.run(part);
      rows->add(part, values.predictions);
      take_finished();
    }
  }
  take_finished();
  if (scorer) result.scores = scorer->result();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace bertrain
