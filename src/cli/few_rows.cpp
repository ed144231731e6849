// A few rows as one batch, again and again.
#include "cli/few_rows.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
#include "cli/devices.h"
#include "cli/load_report.h"
#include "cli/row_survey.h"
#include "train/capacities.h"
#include "train/signals.h"
#include "train/state.h"

namespace bertrain {
namespace {

constexpr double kFits = 0.1;  // of the best constant prediction's loss: only known rows have it
constexpr int64_t kSteps = 300;
constexpr double kUnknown = 0.3;    // share of pieces above which texts are not of this vocabulary
constexpr double kFarNumbers = 5;   // standard deviation of numbers that a head starts far from
constexpr double kLargestRate = 1;  // beyond which none is tried: AdamW's steps are as large as it

std::string loss_text(double loss) {
  return std::isfinite(loss) ? fmt::format("{:.4g}", loss) : "not a finite number";
}

struct Attempt {
  double rate = 0, first = 0, least = INFINITY, last = 0, first_norm = 0;
  int64_t steps = 0;
  bool fits = false;
  std::string text() const {
    return fmt::format("rate {:g}: loss {} at first, {} after {} steps", rate, loss_text(first),
                       loss_text(last), steps);
  }
};

class FewRows {
 public:
  // Rows are fitted where their loss is below `enough`.
  FewRows(const TrainingJob& job, const TrainingOptions& options,
          const std::vector<Example>& examples, double enough)
      : job_(job), task_(*job.task), examples_(examples), enough_(enough) {
    Machine machine =
        open_machine(options.device, options.memory, options.replicas, job.config, true);
    backend_ = std::move(machine.backend);
    choice_.batch_size = std::ssize(examples_);
    choice_.memory = machine.memory.bytes;
    choice_.of_device = machine.memory.of_device;
    compute_ = compute_type(usable_dtype(options.device, options.dtype));
  }

  // From the first weights, at one rate.
  Attempt at(double rate, const TrainingOptions& options, std::ostream& out) {
    StepOptions step = step_options(options, job_.config.num_hidden_layers, compute_);
    step.schedule = {.peak_rate = rate, .steps = kSteps, .warmup = 0, .decay = Decay::constant};
    State state(*backend_, parameters_of(task_), step.optimizer.get());
    start(state, step.seed);
    StepRunner runner(task_, state, step);
    Attempt attempt{.rate = rate};
    for (int64_t n = 0; n < kSteps && !attempt.fits; ++n) {
      leave_if_stopped();
      StepResult result = runner.run(static_cast<uint64_t>(n), batch(runner));
      attempt.steps = n;
      attempt.last = result.loss;
      if (n == 0) {
        attempt.first = result.loss;
        attempt.first_norm = result.gradient_norm;
      }
      if (!result.finite()) break;
      attempt.least = std::min(attempt.least, result.loss);
      attempt.fits = result.loss < enough_;
      if (n % 50 == 0) out << fmt::format("  step {:3}  loss {:.4g}\n", n, result.loss);
    }
    out << attempt.text() << "\n";
    return attempt;
  }

 private:
  // Read, and reported on, once.
  void start(State& state, uint64_t seed) {
    state.initialise(seed);
    if (first_.empty()) {
      if (!job_.weights.empty()) load_weights(state, job_.weights, false, job_.new_head);
      first_ = state.snapshot(false);
      return;
    }
    for (const auto& [name, value] : first_) state.set(name, value);
  }

  std::vector<Batch> batch(StepRunner& runner) {
    if (pack_.capacities.empty()) {
      pack_.capacities = training_capacities(task_, *backend_, runner, "train", choice_);
      pack_.replicas = backend_->replicas();
      pack_.padded_length = task_.padded_length();
    }
    return pack(examples_, task_.schema(), pack_, 0);
  }

  const TrainingJob& job_;
  const Task& task_;
  const std::vector<Example>& examples_;
  double enough_;
  std::unique_ptr<Backend> backend_;
  CapacityChoice choice_;
  DType compute_ = DType::f32;
  Named<Array> first_;
  PackOptions pack_;
};

// A setting of the update, as it keeps no model from learning.
struct Change {
  std::string text;  // "--layer_decay=1"
  std::function<void(TrainingOptions& options)> make;
};

// Of those that are set otherwise.
std::vector<Change> changes(const TrainingOptions& options) {
  std::vector<Change> all;
  auto add = [&](std::string_view name, auto field, auto usual) {
    if (options.*field == usual) return;
    all.push_back({fmt::format("--{}={} instead of {}", name, usual, options.*field),
                   [=](TrainingOptions& o) { o.*field = usual; }});
  };
  add("freeze", &TrainingOptions::freeze, std::string());
  add("layer_decay", &TrainingOptions::layer_decay, 1.0);
  add("weight_decay", &TrainingOptions::weight_decay, 0.0);
  add("bias_correction", &TrainingOptions::bias_correction, std::string("moments"));
  add("adam_epsilon", &TrainingOptions::adam_epsilon, 1e-8);
  add("adam_beta1", &TrainingOptions::adam_beta1, 0.9);
  add("adam_beta2", &TrainingOptions::adam_beta2, 0.999);
  add("clip_norm", &TrainingOptions::clip_norm, 1.0);
  return all;
}

// Which of the update's other settings keeps the rows from being fitted; "": none does. All are changed
// first: where that does not help, it would take long to try each in vain.
std::string setting_at_fault(FewRows& model, const TrainingOptions& options, std::ostream& out) {
  std::vector<Change> all = changes(options);
  auto fits_with = [&](const std::vector<Change>& some) {
    TrainingOptions changed = options;
    std::vector<std::string> texts;
    for (const Change& change : some) {
      change.make(changed);
      texts.push_back(change.text);
    }
    out << fmt::format("with {}:\n", fmt::join(texts, ", "));
    return model.at(changed.learning_rate, changed, out).fits;
  };
  if (all.empty() || !fits_with(all)) return "";
  std::vector<std::string> texts;
  for (const Change& change : all) {
    if (all.size() == 1 || fits_with({change})) {
      return fmt::format("with {} the same rows are fitted", change.text);
    }
    texts.push_back(change.text);
  }
  return fmt::format("with {} together the same rows are fitted", fmt::join(texts, ", "));
}

std::string of_weights(const TrainingJob& job) {
  if (job.weights.empty()) return "";
  return fmt::format("; the weights of {} may be of another configuration", quote(job.weights));
}

// What was found of the training; what the rows and the weights show is told besides.
std::vector<std::string> reasons(FewRows& model, const TrainingJob& job,
                                 const TrainingOptions& options, const std::vector<Attempt>& tried,
                                 double constant_loss, std::ostream& out) {
  std::vector<std::string> found;
  const Attempt& own = tried.front();
  if (tried.back().fits) {
    double other = tried.back().rate;
    found.push_back(
        fmt::format("--learning_rate={:g} is too {}: with {:g} the same rows are fitted", own.rate,
                    other < own.rate ? "large" : "small", other));
    return found;
  }
  if (own.first_norm == 0) {
    found.emplace_back("the gradient is 0: nothing that the loss depends on learns");
  } else if (!std::isfinite(own.first) || !std::isfinite(own.first_norm)) {
    found.emplace_back("the loss or its gradient is not a finite number at the first step");
  }
  if (std::string fault = setting_at_fault(model, options, out); !fault.empty()) {
    found.push_back(std::move(fault));
    return found;
  }
  if (!found.empty()) return found;
  auto [least_rate, largest_rate] = std::minmax_element(
      tried.begin(), tried.end(), [](const auto& a, const auto& b) { return a.rate < b.rate; });
  if (tried.size() > 1) {
    found.push_back(fmt::format("no rate from {:g} to {:g} fits them: it is not the rate",
                                least_rate->rate, largest_rate->rate));
  }
  auto best = std::min_element(tried.begin(), tried.end(),
                               [](const auto& a, const auto& b) { return a.least < b.least; });
  if (best->least < constant_loss) {
    found.push_back(
        fmt::format("the least loss was {} (rate {:g}): the rows are told apart in part, and {} "
                    "steps may be too few",
                    loss_text(best->least), best->rate, kSteps));
  } else {
    found.push_back(fmt::format("no loss was below {}: the rows are not told apart at all{}",
                                loss_text(constant_loss), of_weights(job)));
  }
  return found;
}

std::vector<std::string> reasons_of_rows(const TrainingJob& job, const std::vector<Example>& few,
                                         double constant_loss) {
  std::vector<std::string> found;
  Contradictions contradictions(*job.task);
  UnknownPieces unknown(*job.tokenizer);
  for (const Example& example : few) {
    contradictions.add(example);
    unknown.add(example);
  }
  if (contradictions.count() > 0) found.push_back(contradictions.first());
  if (unknown.share() > kUnknown) {
    found.push_back(fmt::format(
        "{:.0f} % of the pieces are {}: the vocabulary is of another language or casing",
        100 * unknown.share(), job.tokenizer->special().unknown));
  }
  // A cross-entropy is never so large.
  if (constant_loss > kFarNumbers * kFarNumbers) {
    found.push_back(
        fmt::format("the numbers to predict differ by {:.3g} (standard deviation), and a model "
                    "begins near 0: scale them to about -1 to 1",
                    std::sqrt(constant_loss)));
  }
  if (job.weights.empty()) {
    found.emplace_back("the model starts from random weights (no --init_checkpoint)");
  }
  return found;
}

void print(const RowSurvey& survey, std::ostream& out) {
  out << survey.counts->text();
  if (survey.contradictions > 0) {
    out << fmt::format("contradictions: {}; {}\n", survey.contradictions, survey.contradiction);
  }
  out << fmt::format("unknown pieces: {:.1f} %\n", 100 * survey.unknown);
}

std::string verdict(const TrainingJob& job) {
  std::string where =
      "Where a run on all rows does not learn, look at its rate, its number of steps, and whether "
      "the targets follow from the texts";
  if (!job.weights.empty()) {
    return "the model fits these rows: rows, weights and steps are sound. " + where;
  }
  return "the model fits these rows: rows and steps are sound. Its weights were random (no "
         "--init_checkpoint), so that nothing is known of pre-trained ones. " +
         where;
}

void fit(const TrainingJob& job, const TrainingOptions& options, int64_t rows, std::ostream& out) {
  RowSurvey survey = survey_rows(*job.task, *job.tokenizer, rows);
  print(survey, out);
  std::unique_ptr<TargetCounts> counts = job.task->target_counts();
  for (const Example& example : survey.few) counts->add(example, true);
  double constant_loss = counts->constant_loss();
  constexpr double kNone = 1e-9;  // of sums in floating point, where it would be 0
  if (constant_loss < kNone) {
    throw error(
        "{} rows, which all have the same target, {}: a model that always says so fits them, so "
        "that they show nothing; rows of different targets are needed",
        survey.chosen.size(), quote(counts->kind(survey.few.at(0))));
  }
  if (options.learning_rate == 0) {
    throw error("--learning_rate=0: no weight changes, so that nothing can be learnt");
  }
  double enough = kFits * constant_loss;
  out << fmt::format(
      "{} rows as one batch, without dropout and at a constant rate, until the loss is below "
      "{:.4g} (the best constant prediction has {:.4g}):\n",
      survey.chosen.size(), enough, constant_loss);
  FewRows model(job, options, survey.few, enough);
  std::vector<Attempt> tried = {model.at(options.learning_rate, options, out)};
  if (tried[0].fits) {
    out << verdict(job) << "\n";
    return;
  }
  for (double factor : {0.1, 10.0, 0.01, 100.0}) {
    double rate = options.learning_rate * factor;
    bool tries = tried[0].first_norm != 0 && !tried.back().fits;
    if (tries && (factor < 1 || rate <= kLargestRate))
      tried.push_back(model.at(rate, options, out));
  }
  std::vector<std::string> found = reasons_of_rows(job, survey.few, constant_loss);
  for (std::string& reason : reasons(model, job, options, tried, constant_loss, out)) {
    found.push_back(std::move(reason));
  }
  throw error("{} rows are not fitted at --learning_rate={:g}:\n  {}", survey.chosen.size(),
              options.learning_rate, fmt::join(found, "\n  "));
}

}  // namespace

std::vector<std::string> unused_by_few_rows() {
  return {"runs",           "num_train_epochs",  "num_train_steps",  "warmup_proportion",
          "decay",          "end_learning_rate", "num_warmup_steps", "train_batch_size",
          "accumulate",     "shuffle_buffer",    "eval_batch_size",  "eval_every",
          "best_metric",    "early_stopping",    "save_every",       "keep",
          "log_every",      "stop_after",        "resume",           "overwrite",
          "label_smoothing"};
}

void fit_few_rows(const TrainingJob& job, const TrainingOptions& options, int64_t rows,
                  std::ostream& out) {
  StopSignals signals;
  try {
    fit(job, options, rows, out);
  } catch (const Stopped&) {
    throw Error("stopped by a signal", ExitCode::retry);
  }
}

}  // namespace bertrain
