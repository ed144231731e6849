// A model folder at work: what evaluate and predict share.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backend/backend.h"
#include "cli/options.h"
#include "task/catalog/catalog.h"
#include "train/evaluate.h"
#include "train/state.h"

namespace bertrain {

inline constexpr int64_t kTopK = 5;

struct InferenceOptions {
  std::string model_dir, input_file;
  std::string text_column, text_b_column, label_column, id_column, format, long_text;
  std::string bad_rows = "fail", invalid_utf8 = "error";
  std::optional<bool> header;
  TagColumns tagging;
  ChoiceOptions choice;  // but for its table
  bool skip_corrupt = false;
  int64_t top_k = kTopK;  // of predict: pieces for a mask
  SquadOptions squad;     // of a model that answers questions
  std::string device = "cpu", dtype = "fp32", memory;
  int64_t threads = 0, replicas = 0;

  void each(OptionVisitor& v);
};

// Defaults, of a command that reads standard input where no file is named.
InferenceOptions from_standard_input();

// Throws a usage error for an option that says something about tables, where the model (`task`, as
// Task::describe() names it) reads none, about choices or answers, where it gives none, or about records
// or masks, where it is no pre-trained one; and for a file named as a table where that is what it is.
void refuse_idle_options(const InferenceOptions& options, std::string_view task);

// The task that the folder was trained for, on the rows of input_file, with its weights on a
// backend. Needs nothing beside the folder. Throws Error when a weight is missing, and usage errors
// for options that cannot be.
class TrainedModel {
 public:
  // `split` is "dev" (rows with known labels, which are scored) or "test" (rows to predict; of a
  // pre-trained model texts with [MASK]).
  TrainedModel(const InferenceOptions& options, std::string split, int64_t batch_size);
  // For another task than the folder was made for, on rows to predict.
  using MakeTask = std::function<std::unique_ptr<Task>(const TaskOptions& model)>;
  TrainedModel(const InferenceOptions& options, int64_t batch_size, const MakeTask& make);

  const Task& task() const { return *task_; }
  bool is(std::string_view task) const { return description_["task"] == task; }
  const std::string& folder() const { return folder_; }  // that it was read from
  const Json& description() const { return description_; }

  EvaluationResult run(bool score, int64_t max_batches,
                       const std::function<void(const Example&)>& on_row);

 private:
  void open(const InferenceOptions& options, std::string split, int64_t batch_size,
            const MakeTask& make);

  std::string folder_;
  Json description_;  // Task::describe() of the folder
  std::unique_ptr<Task> task_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<State> state_;
  std::unique_ptr<EvaluationRunner> runner_;
  EvaluateOptions evaluate_;
};

}  // namespace bertrain
