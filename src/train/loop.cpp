// One page: what happens between two steps, and the step.
#include "train/loop.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "train/signals.h"

namespace bertrain {
namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void restart() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The next step, read and sent while one runs. What goes wrong then is thrown where that step is
// needed: what is due before it comes first.
class NextStep {
 public:
  NextStep(StepRunner& runner, Stream<std::vector<Batch>>& batches)
      : runner_(runner), batches_(batches) {}

  void prepare(int64_t step) {
    try {
      std::optional<std::vector<Batch>> batch = batches_.next();
      check(batch.has_value(), "training batches have no end");
      sent_ = runner_.send(static_cast<uint64_t>(step), std::move(*batch));
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  SentStep take(int64_t step) {
    if (!sent_ && !failure_) prepare(step);
    if (failure_) std::rethrow_exception(failure_);
    return *std::exchange(sent_, std::nullopt);
  }

 private:
  StepRunner& runner_;
  Stream<std::vector<Batch>>& batches_;
  std::optional<SentStep> sent_;
  std::exception_ptr failure_;
};

Error not_finite(const Task& task, int64_t step, const std::vector<Batch>& micro,
                 const StepResult& result, int64_t saved) {
  constexpr size_t kShown = 64;
  std::string rows;
  size_t count = 0;
  for (const Batch& batch : micro) {
    for (int64_t row : batch.row) {
      if (count++ < kShown)
        rows += fmt::format("{}{}", rows.empty() ? "" : ", ", task.row_name(row));
    }
  }
  if (count > kShown) rows += fmt::format(" and {} more", count - kShown);
  std::string before = saved < 0 ? "Nothing was saved"
                                 : fmt::format("The last checkpoint is that of step {}", saved);
  return error(
      "step {}: the loss is {} and the norm of the gradient {}; the update was not made. Rows of "
      "the batch: {}. {}. A lower --learning_rate or a longer warm-up helps where the "
      "data are sound",
      step + 1, result.loss, result.gradient_norm, rows, before);
}

}  // namespace

int64_t most_states(const LoopOptions& options, int64_t keep, bool evaluated) {
  constexpr int64_t kTimes = 3;  // by the clock: so many are likely, and nobody knows how many more
  int64_t before_end = std::max<int64_t>(options.steps - 1, 0);
  auto times = [&](const Cadence& cadence) {
    int64_t most = most_times(cadence, before_end, options.steps_per_epoch);
    return cadence.unit == Cadence::seconds ? std::min(most, kTimes) : most;
  };
  int64_t evaluations = evaluated ? times(options.eval_every) : 0;
  // Each evaluation may find the best model so far, which is saved.
  int64_t saves = std::min(times(options.save_every) + evaluations, before_end) + 1;
  // Without the comparison a large --keep would go beyond what the type holds.
  int64_t kept = std::min(keep, saves) + (evaluations > 0 ? 1 : 0);
  return std::min(saves, kept + 1);
}

bool train(const LoopOptions& options, StepRunner& runner, Stream<std::vector<Batch>>& batches,
           RunCheckpoints& checkpoints, Journal& journal, const std::function<Json()>& evaluate) {
  Stopwatch since_evaluation, since_save;
  int64_t step = checkpoints.step();
  NextStep next(runner, batches);
  // What is due after a step is decided here, before the next one, so that a resumed run makes up
  // for an evaluation that its interruption cost it.
  while (true) {
    auto out_of_patience = [&] {
      return options.patience > 0 && checkpoints.evaluations_since_best() >= options.patience;
    };
    bool done = step >= options.steps || out_of_patience();
    auto is_due = [&](const Cadence& cadence, const Stopwatch& since) {
      return done || (step > 0 && due(cadence, step, options.steps_per_epoch, since.seconds()));
    };
    journal.pause();
    bool interrupted = StopSignals::requested() != 0;
    if (evaluate && !interrupted && checkpoints.evaluated_step() != step &&
        is_due(options.eval_every, since_evaluation)) {
      try {
        Json scores = evaluate();
        journal.evaluation(step, scores);
        checkpoints.judge(step, scores);
        if (!done && out_of_patience()) {
          done = true;
          log_line(
              "step {}: stopped early, as {} evaluations in a row were not better than that of "
              "step {}",
              step, checkpoints.evaluations_since_best(), checkpoints.best_step());
        }
      } catch (const Stopped&) {
        interrupted = true;
      }
      since_evaluation.restart();
    }
    bool leave = done || interrupted || (options.stop_after > 0 && step >= options.stop_after);
    if (checkpoints.saved_step() != step &&
        (leave || checkpoints.is_best(step) || is_due(options.save_every, since_save))) {
      checkpoints.save(step);
      since_save.restart();
    }
    if (leave) return done && !interrupted;
    journal.resume();

    SentStep sent;
    try {
      sent = next.take(step);
      runner.start(sent);
    } catch (const Stopped&) {
      continue;  // between examples or micro-batches: the state is still that of `step`
    }
    if (step + 1 < options.steps && step + 1 != options.stop_after) next.prepare(step + 1);
    StepResult result = runner.finish();
    if (!result.finite())
      throw not_finite(runner.task(), step, sent.micro, result, checkpoints.saved_step());
    ++step;
    journal.step(step, sent.micro, result);
  }
}

}  // namespace bertrain
