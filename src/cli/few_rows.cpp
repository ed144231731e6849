// A few rows as one batch, again and again.
#include "cli/few_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/machine.h"
#include "base/quote.h"
#include "cli/devices.h"
#include "cli/load_report.h"
#include "train/capacities.h"
#include "train/signals.h"
#include "train/state.h"

namespace bertrain {
namespace {

constexpr size_t kMostLookedAt = 10000;  // rows that the few are chosen from
constexpr size_t kMostLabels = 20;       // that are listed
constexpr double kFits = 0.05;           // a loss that only known rows have
constexpr int64_t kSteps = 300;
constexpr double kMoves = 0.95;   // of the first loss: what stays above it has hardly moved
constexpr double kUnknown = 0.3;  // share of pieces above which texts are not of this vocabulary

using Row = std::pair<int64_t, Example>;  // number in the split

std::string gold_of(const Example& row) {
  auto found = row.find("gold");
  if (found == row.end()) return "";
  const auto* names = std::get_if<std::vector<std::string>>(&found->second);
  return names == nullptr ? "" : fmt::format("{}", fmt::join(*names, ","));
}

std::vector<Row> first_rows(const Task& task) {
  std::vector<Row> rows;
  ExampleStream stream = task.examples("train");
  while (rows.size() < kMostLookedAt) {
    leave_if_stopped();
    std::optional<Example> row = stream->next();
    if (!row) break;
    rows.emplace_back(std::ssize(rows), std::move(*row));
  }
  return rows;
}

using ByLabel = std::map<std::string, std::vector<size_t>>;  // label → rows

ByLabel by_label(const std::vector<Row>& rows) {
  ByLabel labels;
  for (size_t i = 0; i < rows.size(); ++i) labels[gold_of(rows[i].second)].push_back(i);
  return labels;
}

// What a model scores that says the same of every row.
void print_labels(const ByLabel& labels, size_t rows, std::ostream& out) {
  if (labels.size() < 2) return;
  std::vector<std::pair<size_t, std::string>> most;
  for (const auto& [label, mine] : labels) most.emplace_back(mine.size(), label);
  std::stable_sort(most.begin(), most.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  auto share = [&](size_t count) {
    return 100.0 * static_cast<double>(count) / static_cast<double>(rows);
  };
  out << fmt::format("labels of {} rows: {}; always saying {} is right for {:.1f} %\n", rows,
                     labels.size(), quote(most[0].second), share(most[0].first));
  for (size_t i = 0; i < std::min(most.size(), kMostLabels); ++i) {
    out << fmt::format("  {:6.1f} %  {}\n", share(most[i].first), quote(most[i].second));
  }
  if (most.size() > kMostLabels) out << "  and " << most.size() - kMostLabels << " more\n";
}

// One of each label in turn, so that a model that says the same of all cannot fit them.
std::vector<Row> choose(const std::vector<Row>& rows, const ByLabel& labels, int64_t count) {
  std::vector<size_t> chosen;
  for (size_t turn = 0; std::ssize(chosen) < count; ++turn) {
    size_t before = chosen.size();
    for (const auto& [label, mine] : labels) {
      if (turn < mine.size() && std::ssize(chosen) < count) chosen.push_back(mine[turn]);
    }
    if (chosen.size() == before) break;
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<Row> few;
  for (size_t i : chosen) few.push_back(rows[i]);
  return few;
}

double unknown_share(const std::vector<Row>& rows, const Tokenizer& tokenizer) {
  int64_t unknown = tokenizer.vocabulary().find(tokenizer.special().unknown);
  uint64_t count = 0, all = 0;
  for (const auto& [number, row] : rows) {
    for (int64_t id : integers(row, "input_ids")) count += id == unknown ? 1 : 0;
    all += integers(row, "input_ids").size();
  }
  return all > 0 ? static_cast<double>(count) / static_cast<double>(all) : 0;
}

// Rows of the same pieces that are to have different labels; "" if there are none.
std::string contradiction(const Task& task, const std::vector<Row>& rows) {
  std::map<std::pair<std::vector<int64_t>, std::vector<int64_t>>, const Row*> seen;
  for (const Row& row : rows) {
    const Example& e = row.second;
    auto [at, fresh] =
        seen.emplace(std::pair(integers(e, "input_ids"), integers(e, "segment_ids")), &row);
    std::string label = gold_of(e), other = gold_of(at->second->second);
    if (fresh || label == other) continue;
    return fmt::format(
        "rows {} and {} of those trained on (counted from 0) are the same pieces, and have the "
        "labels {} and {}",
        task.row_name(at->second->first), task.row_name(row.first), quote(other), quote(label));
  }
  return "";
}

struct Attempt {
  double rate = 0, first = 0, least = INFINITY, last = 0, first_norm = 0;
  int64_t steps = 0;
  bool fits() const { return least < kFits; }
  std::string text() const {
    return fmt::format("rate {:g}: loss {:.4f} at first, {:.4f} after {} steps", rate, first, last,
                       steps);
  }
};

class FewRows {
 public:
  FewRows(const TrainingJob& job, const TrainingOptions& options, const std::vector<Row>& rows)
      : task_(*job.task) {
    for (const auto& [number, row] : rows) examples_.push_back(row);
    backend_ = open_backend(
        options.device, {loop_threads(), parse_memory(options.memory), nullptr, leave_if_stopped},
        options.replicas);
    ProgramMemory memory = program_memory(*backend_, options.memory);
    require_memory(job.config, true, memory);
    choice_.batch_size = std::ssize(examples_);
    choice_.memory = memory.bytes;
    choice_.of_device = memory.of_device;
    step_ = step_options(options, job.config.num_hidden_layers,
                         compute_type(usable_dtype(options.device, options.dtype)));
    state_ = std::make_unique<State>(*backend_, parameters_of(task_), step_.optimizer.get());
    state_->initialise(step_.seed);
    if (!job.weights.empty()) load_weights(*state_, job.weights, false, job.new_head);
    first_ = state_->snapshot(false);
  }

  // From the first weights, at one rate.
  Attempt at(double rate, std::ostream& out) {
    state_->initialise(step_.seed);
    for (const auto& [name, value] : first_) state_->set(name, value);
    step_.schedule = {.peak_rate = rate, .steps = kSteps, .warmup = 0, .decay = Decay::constant};
    StepRunner runner(task_, *state_, step_);
    Attempt attempt{.rate = rate};
    for (int64_t step = 0; step < kSteps && !attempt.fits(); ++step) {
      leave_if_stopped();
      StepResult result = runner.run(static_cast<uint64_t>(step), batch(runner));
      attempt.steps = step;
      attempt.last = result.loss;
      if (step == 0) {
        attempt.first = result.loss;
        attempt.first_norm = result.gradient_norm;
      }
      if (!result.finite()) break;
      attempt.least = std::min(attempt.least, result.loss);
      if (step % 50 == 0) out << fmt::format("  step {:3}  loss {:.4f}\n", step, result.loss);
    }
    out << attempt.text() << "\n";
    return attempt;
  }

 private:
  std::vector<Batch> batch(StepRunner& runner) {
    if (pack_.capacities.empty()) {
      pack_.capacities = training_capacities(task_, *backend_, runner, "train", choice_);
      pack_.replicas = backend_->replicas();
      pack_.padded_length = task_.padded_length();
    }
    return pack(examples_, task_.schema(), pack_, 0);
  }

  const Task& task_;
  std::vector<Example> examples_;
  std::unique_ptr<Backend> backend_;
  CapacityChoice choice_;
  StepOptions step_;
  std::unique_ptr<State> state_;
  Named<Array> first_;
  PackOptions pack_;
};

// What is known to keep a model from fitting its rows, the surest first.
std::vector<std::string> reasons(const TrainingJob& job, const TrainingOptions& options,
                                 const std::vector<Row>& few, const std::vector<Attempt>& tried) {
  std::vector<std::string> found;
  if (std::string same = contradiction(*job.task, few); !same.empty()) found.push_back(same);
  const Attempt& own = tried.front();
  for (const Attempt& other : tried) {
    if (&other == &own || !other.fits()) continue;
    found.push_back(
        fmt::format("--learning_rate={:g} is too {}: with {:g} the same rows are fitted", own.rate,
                    other.rate < own.rate ? "large" : "small", other.rate));
  }
  if (own.first_norm == 0) {
    found.emplace_back("the gradient is 0: nothing that the loss depends on learns");
  } else if (!std::isfinite(own.last) || !std::isfinite(own.first_norm)) {
    found.emplace_back("the loss or its gradient is not a finite number");
  } else if (own.last > own.first) {
    found.push_back(
        fmt::format("the loss rises at --learning_rate={:g}: it is too large", own.rate));
  } else if (own.last > kMoves * own.first) {
    found.push_back(
        fmt::format("the loss hardly moves at --learning_rate={:g}: it is too small", own.rate));
  }
  if (double share = unknown_share(few, *job.tokenizer); share > kUnknown) {
    found.push_back(fmt::format(
        "{:.0f} % of the pieces are {}: the vocabulary is of another language or casing",
        100 * share, job.tokenizer->special().unknown));
  }
  if (!options.freeze.empty()) {
    found.push_back(fmt::format("--freeze={}: too little may be left to learn", options.freeze));
  }
  if (job.weights.empty()) {
    found.emplace_back("the model starts from random weights (no --init_checkpoint)");
  }
  if (found.empty()) {
    found.push_back(fmt::format(
        "none of the usual reasons was found; the weights of {} may be of another configuration",
        quote(job.weights)));
  }
  return found;
}

}  // namespace

void fit_few_rows(const TrainingJob& job, const TrainingOptions& options, int64_t rows,
                  std::ostream& out) {
  StopSignals signals;
  try {
    std::vector<Row> all = first_rows(*job.task);
    ByLabel labels = by_label(all);
    print_labels(labels, all.size(), out);
    out << fmt::format("unknown pieces: {:.1f} %\n", 100 * unknown_share(all, *job.tokenizer));
    std::vector<Row> few = choose(all, labels, rows);
    FewRows model(job, options, few);
    out << fmt::format(
        "{} rows as one batch, without dropout and at a constant rate, until the "
        "loss is below {}:\n",
        few.size(), kFits);
    std::vector<Attempt> tried = {model.at(options.learning_rate, out)};
    if (tried[0].fits()) {
      out << fmt::format(
          "the model fits these rows: rows, weights and steps are sound. Where a run on all rows "
          "does not learn, look at its rate, its number of steps, and whether the labels follow "
          "from the texts\n");
      return;
    }
    for (double factor : {0.1, 10.0, 0.01, 100.0}) {
      if (!tried.back().fits()) tried.push_back(model.at(options.learning_rate * factor, out));
    }
    throw error("{} rows are not fitted at --learning_rate={:g}:\n  {}", few.size(),
                options.learning_rate, fmt::join(reasons(job, options, few, tried), "\n  "));
  } catch (const Stopped&) {
    throw Error("stopped by a signal", ExitCode::retry);
  }
}

}  // namespace bertrain
