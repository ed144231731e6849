// One entry of numbers to three readers.
#include "train/journal.h"

#include "base/log.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Journal::Journal(const std::string& directory, int64_t first, int64_t last, int64_t log_every)
    : last_(last),
      log_every_(log_every),
      lines_(join_path(directory, "metrics.jsonl"), first),
      train_events_(join_path(directory, "tensorboard/train"), first),
      directory_(directory),
      first_(first),
      console_("training", first, last),
      since_(Clock::now()) {}

void Journal::step(int64_t step, const std::vector<Batch>& micro, const StepResult& result) {
  for (const Batch& batch : micro) {
    waste_.add(batch);
    examples_ += static_cast<int64_t>(batch.row.size());
    tokens_ += batch.tokens;
  }
  if (step % log_every_ != 0 && step != last_ && step != 1) return console_.step(step);
  double seconds = std::chrono::duration<double>(Clock::now() - since_).count();
  double examples = static_cast<double>(examples_) / seconds;
  double tokens = static_cast<double>(tokens_) / seconds;
  Named<double> scalars = {{"loss", result.loss},
                           {"learning_rate", result.rate},
                           {"gradient_norm", result.gradient_norm},
                           {"examples_per_second", examples},
                           {"tokens_per_second", tokens}};
  Json values = {{"loss", result.loss}};
  if (result.losses.size() > 1) {
    for (const auto& [name, loss] : result.losses) scalars[name] = values[name] = loss;
  }
  for (const char* name :
       {"learning_rate", "gradient_norm", "examples_per_second", "tokens_per_second"}) {
    values[name] = scalars[name];
  }
  lines_.add(step, values);
  train_events_.add(step, scalars);
  console_.logged({step, result.loss, result.rate, examples, tokens});
  examples_ = tokens_ = 0;
  since_ = Clock::now();
}

void Journal::evaluation(int64_t step, const Json& scores) {
  Json values = Json::object();
  Named<double> scalars;
  std::string text;
  for (const auto& [name, value] : scores.items()) {
    if (!value.is_number()) continue;
    values[name] = value;
    scalars[name] = value.get<double>();
    text += fmt::format("{}{} {:.6g}", text.empty() ? "" : ", ", name, scalars[name]);
  }
  lines_.add(step, values);
  if (!eval_events_) {
    eval_events_ = std::make_unique<EventWriter>(join_path(directory_, "tensorboard/eval"), first_);
  }
  eval_events_->add(step, scalars);
  log_line("evaluation after step {}: {}", step, text);
}

void Journal::pause() {
  console_.clear();
  paused_ = Clock::now();
}

void Journal::resume() { since_ += Clock::now() - paused_; }

}  // namespace bertrain
