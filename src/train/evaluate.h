// Scores and predictions: every row of a split exactly once, whatever the batch size.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "data/packer.h"
#include "task/task.h"
#include "train/capacities.h"
#include "train/step.h"

namespace bertrain {

struct EvaluateOptions {
  std::string split = "dev";
  int64_t batch_size = 32;
  int64_t max_batches = 0;  // 0: the whole split
  PackOptions pack;         // capacities for that batch size
};

struct EvaluationSize {
  CapacityChoice choice;       // batch_size, memory
  std::string_view flag;       // of the batch size
  bool may_be_sampled = true;  // false: the split is read once, so that nothing of it is looked at
};
// As much of a batch at once as memory allows. Throws usage errors as require_batch_memory and
// evaluation_capacities do.
EvaluateOptions evaluation_of(const Task& task, const Backend& backend, EvaluationRunner& runner,
                              std::string split, const EvaluationSize& size);

struct EvaluationResult {
  Json scores = Json::object();   // of Scorer::result(); empty where `score` was false
  Json details = Json::object();  // of Scorer::details(); likewise
  uint64_t rows = 0;
  double seconds = 0;
};

// Runs the split through the model; each finished row goes to the scorer (if `score`) and to
// `on_row` (if given), in input order. A loss that is not finite is an Error. Leaves
// by Stopped between batches if a signal asked.
EvaluationResult evaluate(const Task& task, EvaluationRunner& runner,
                          const EvaluateOptions& options, bool score,
                          const std::function<void(const Example&)>& on_row = {});

// Those of a task's splits that are scored while it trains, in its order: "dev", or "dev_matched" and its
// like.
std::vector<std::string> dev_splits(std::vector<std::string> splits);

// Scores of all of them in one object, by the names that the scores have: those of the first split as they
// are, those of a further "dev_X" with "X_" before them. `of` gives one split's.
Json scores_of_splits(const std::vector<std::string>& splits,
                      const std::function<Json(const std::string&)>& of);

}  // namespace bertrain
