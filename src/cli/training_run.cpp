// Preflight, start or resume, loop, result.
#include "cli/training_run.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/quote.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/model_folder.h"
#include "cli/devices.h"
#include "cli/finished_run.h"
#include "cli/first_start.h"
#include "cli/load_report.h"
#include "cli/model_output.h"
#include "cli/row_printer.h"
#include "storage/disk_space.h"
#include "storage/storage.h"
#include "train/capacities.h"
#include "train/evaluate.h"
#include "train/fingerprint.h"
#include "train/loop.h"
#include "train/signals.h"
#include "train/training_stream.h"

namespace bertrain {
namespace {

constexpr const char* kPatienceFrom = "patience_from";

bool has_split(const Task& task, std::string_view split) {
  std::vector<std::string> all = task.splits();
  return std::find(all.begin(), all.end(), split) != all.end();
}

// A result: for the command's stream, and for log.txt.
void say(RunDirectory& run, std::ostream& out, const std::string& text) {
  run.note(text);
  out << text;
}

// Says how good a model is, unlike a number of rows or the threshold at which a score is best.
bool is_score(const std::string& name) {
  return !name.ends_with("_count") && !name.ends_with("_thresh");
}

// The parts of a run, made in the order of use; each phase is one method.
class TrainingRun {
 public:
  TrainingRun(RunDirectory& run, const TrainingJob& job, const TrainingOptions& options)
      : run_(run),
        job_(job),
        options_(options),
        task_(*job.task),
        first_(run, job.settings, options) {}

  // Without a trace, too.
  void check() {
    check_request();
    if (!is_finished()) check_batches();
  }

  void run(std::ostream& out) {
    StopSignals signals;  // heard from here to the last row that is predicted
    try {
      run_phases(out);
    } catch (const Stopped&) {
      throw stopped_by_signal();
    }
  }

 private:
  void run_phases(std::ostream& out) {
    RunRequest request = check_request();
    if (is_finished()) {
      refuse_changed_model(run_.file("model"), run_.finished_results());
      std::vector<std::string> missing = missing_model_files(run_.file("model"));
      if (missing.empty()) return complete(out);
      log_line(
          "{}: the run is finished, but {} of its model {} missing: the model is written again",
          run_.file("model"), some_of(missing), missing.size() == 1 ? "is" : "are");
    }
    check_batches();
    open_machine(true);
    prepare_steps();
    prepare_loop();
    prepare_state();
    prepare_evaluation();
    Json choices = {{"instruction_set", instruction_set_of(options_.device)},
                    {"dtype", dtype_},
                    {"replicas", backend_->replicas()},
                    {"device", backend_->description()},
                    {"capacities", to_json(capacities_)}};
    if (patience_from_) choices[kPatienceFrom] = *patience_from_;
    run_.start(request, choices);
    log_banner();
    train_steps() ? publish(out) : leave(out);
  }

  RunRequest check_request();
  bool is_finished() const;
  void refuse_fewer_steps(int64_t done) const;
  void complete(std::ostream& out);
  void open_machine(bool trains);
  void prepare_steps();
  void prepare_loop();
  void prepare_state();
  void count_patience();
  void prepare_evaluation();
  void check_batches();
  int64_t shuffle_buffer() const {
    return options_.shuffle_buffer > 0 ? options_.shuffle_buffer : job_.shuffle_buffer;
  }
  Json about_test() const { return has_split(task_, "test") ? about_rows(job_.test_file) : Json(); }
  std::string predict_test();
  void log_banner();
  bool train_steps();
  void publish(std::ostream& out);
  void leave(std::ostream& out);
  Error stopped_by_signal() const;

  std::vector<Capacity> agreed_capacities();
  CapacityChoice capacity_choice(int64_t batch_size) const;
  BestRule best_rule() const;
  double epoch_steps() const;

  RunDirectory& run_;
  const TrainingJob& job_;
  const TrainingOptions& options_;
  const Task& task_;
  FirstStart first_;
  bool same_settings_ = true;  // as those of an earlier start
  std::optional<int64_t>
      patience_from_;  // the step after which evaluations count for early stopping
  int threads_ = 0;
  uint64_t shuffled_bytes_ = 0;  // of examples that wait to be shuffled, if they count
  ProgramMemory memory_;         // beside those
  std::string dtype_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<State> state_;
  std::unique_ptr<StepRunner> runner_;
  std::unique_ptr<RunCheckpoints> checkpoints_;
  std::vector<Capacity> capacities_;
  LoopOptions loop_;
  std::unique_ptr<EvaluationRunner> evaluation_;
  std::map<std::string, EvaluateOptions> dev_;  // by split
  EvaluateOptions test_;
};

RunRequest TrainingRun::check_request() {
  RunRequest request = request_of(job_);
  run_.keep_inputs(job_.data_files);
  run_.keep_inputs(job_.inputs);
  same_settings_ = run_.compare(request);
  best_rule();
  std::vector<std::string> names;
  for (const Parameter& p : parameters_of(task_)) names.push_back(p.name);
  require_named_parts(adamw_options(options_, job_.config.num_hidden_layers).factors, names);
  patience_of(options_, !dev_splits(task_.splits()).empty());
  refuse_fewer_steps(run_.finished_step().value_or(0));
  return request;
}

// One that stopped early goes on where it is asked for otherwise.
bool TrainingRun::is_finished() const {
  return run_.finished_step() == job_.steps && (same_settings_ || !run_.stopped_early());
}

void TrainingRun::refuse_fewer_steps(int64_t done) const {
  if (done <= job_.steps) return;
  throw error(
      "{}: {} steps are done already, and {} are asked for: ask for --num_train_steps={} or more, "
      "use another --output_dir, or --overwrite (removes that run)",
      run_.path(), done, job_.steps, done);
}

// Of a finished run whose model is there: predictions that somebody removed, or that are of other
// rows than the command names, are made by that model; the checkpoints may be gone.
void TrainingRun::complete(std::ostream& out) {
  Json results = run_.finished_results();
  std::string text =
      fmt::format("already at step {} of {}: nothing to train; the model is in {}\n",
                  results.value("last_step", job_.steps), job_.steps, run_.file("model"));
  Json test = about_test();
  if (!test.is_null()) {
    std::string file = run_.file(predictions_file(task_.describe()));
    bool there = storage_for(file).size(file).has_value();
    Json before = results.value("test", Json());
    // Of a pipe nobody knows whether the rows are the same.
    if (!there || before != test || is_read_once(job_.test_file)) {
      log_line("{}: {}: written by the model of the finished run", file,
               there ? "its rows may be others than those of --test_file" : "missing");
      open_machine(false);
      state_ = std::make_unique<State>(*backend_, parameters_of(task_));
      state_->initialise(0);
      load_weights(*state_, run_.file("model"), true);
      prepare_evaluation();
      predict_test();
      results["test"] = test;
      run_.finish(job_.steps, results);
    }
    text += "test_predictions = " + file + "\n";
  }
  say(run_, out, text);
}

void TrainingRun::open_machine(bool trains) {
  // Not taken from the first start: whatever their number, the bits are the same.
  threads_ = loop_threads();
  first_.agree_instruction_set();
  dtype_ = first_.agreed_dtype();
  Machine machine = bertrain::open_machine(options_.device, options_.memory, options_.replicas,
                                           job_.config, trains);
  backend_ = std::move(machine.backend);
  memory_ = machine.memory;
  // While training is under way, what waits to be shuffled stays.
  if (!memory_.of_device) memory_.bytes -= std::min(memory_.bytes, shuffled_bytes_);
}

void TrainingRun::prepare_steps() {
  int64_t layers = job_.config.num_hidden_layers;
  StepOptions step = step_options(options_, layers, compute_type(dtype_));
  step.schedule = {options_.learning_rate, options_.end_learning_rate, job_.steps, job_.warmup,
                   parse_decay(options_.decay)};
  warn_of_large_steps(adamw_options(options_, layers), step.schedule);
  state_ = std::make_unique<State>(*backend_, parameters_of(task_), step.optimizer.get());
  runner_ = std::make_unique<StepRunner>(task_, *state_, step);
  capacities_ = agreed_capacities();
}

CapacityChoice TrainingRun::capacity_choice(int64_t batch_size) const {
  CapacityChoice choice;
  choice.batch_size = batch_size;
  choice.memory = memory_.bytes;
  choice.of_device = memory_.of_device;
  choice.slot_bytes = bytes_of(state_->types()) - bytes_of(state_->types(false));
  return choice;
}

std::vector<Capacity> TrainingRun::agreed_capacities() {
  CapacityChoice choice = capacity_choice(options_.train_batch_size);
  choice.accumulate = options_.accumulate;
  bool other = first_.changed({"train_batch_size", "accumulate", "dtype", "device"}) ||
               (run_.continues() && run_.record().value("task", Json()) != task_.describe()) ||
               !first_.agree_devices(*backend_);
  std::optional<JsonValue> before = run_.chosen("capacities");
  if (before && !other) {
    std::vector<Capacity> kept = capacities_from_json(*before, task_.max_seq_length());
    std::string beyond = beyond_memory(*runner_, kept.back(), backend_->replicas(), choice);
    if (beyond.empty()) return kept;
    run_.inexact(beyond);
  }
  return training_capacities(task_, *backend_, *runner_, "train", choice);
}

void TrainingRun::prepare_loop() {
  loop_.steps = job_.steps;
  loop_.eval_every = parse_cadence("eval_every", options_.eval_every);
  loop_.save_every = parse_cadence("save_every", options_.save_every);
  loop_.stop_after = options_.stop_after;
  loop_.patience = patience_of(options_, !dev_splits(task_.splits()).empty());
  loop_.steps_per_epoch = epoch_steps();
}

// Records are counted only where a cadence in epochs asks for their number.
double TrainingRun::epoch_steps() const {
  bool asked = loop_.eval_every.unit == Cadence::epochs || loop_.save_every.unit == Cadence::epochs;
  if (job_.steps_per_epoch > 0 || !asked) return job_.steps_per_epoch;
  uint64_t count = count_examples(task_, "train", kForever, "the records of an epoch");
  return static_cast<double>(count) / static_cast<double>(options_.train_batch_size);
}

BestRule TrainingRun::best_rule() const {
  std::vector<std::string> splits = dev_splits(task_.splits());
  bool scored = !splits.empty();
  if (!scored && options_.best_metric.empty()) return {};
  std::string metric = options_.best_metric.empty() ? job_.best_metric : options_.best_metric;
  if (!scored) splits = {"dev"};
  // Of no rows: only the names matter.
  Json scores =
      scores_of_splits(splits, [&](const std::string&) { return task_.scorer()->result(); });
  if (scores.contains(metric) && scores[metric].is_number() && is_score(metric)) {
    if (!scored) return {};  // nothing is evaluated, but a wrong name is said
    return {metric, higher_is_better(metric)};
  }
  std::string names;
  for (const auto& [name, value] : scores.items()) {
    if (value.is_number() && is_score(name)) names += (names.empty() ? "" : ", ") + name;
  }
  throw usage_error("--best_metric={}: the scores are {}", metric, names);
}

// A run that had stopped early and goes on under other settings has all its patience again, also where
// it ended before it saved anything since.
void TrainingRun::count_patience() {
  std::optional<JsonValue> from = run_.chosen(kPatienceFrom);
  bool again = from && from->integer(0, INT64_MAX) == checkpoints_->step();
  if (!again && (same_settings_ || !run_.stopped_early())) return;
  log_line("{}: it had stopped early; evaluations that are not better are counted anew",
           run_.path());
  checkpoints_->count_anew();
  patience_from_ = checkpoints_->step();
}

void TrainingRun::prepare_state() {
  checkpoints_ = std::make_unique<RunCheckpoints>(run_.file("checkpoints"), *state_, options_.keep,
                                                  best_rule());
  state_->initialise(static_cast<uint64_t>(options_.seed));
  if (run_.continues() && checkpoints_->restore()) {
    refuse_fewer_steps(checkpoints_->step());
    log_line("{}: going on after step {} of {}", run_.path(), checkpoints_->step(), job_.steps);
    count_patience();
    return;
  }
  if (run_.finished_step()) {
    throw error(
        "{}: the run is finished, but no checkpoint is left to go on from: use another "
        "--output_dir, or --overwrite (trains from the start)",
        run_.path());
  }
  if (run_.continues())
    log_line("{}: that run has no checkpoint yet: it begins again", run_.path());
  if (!job_.weights.empty()) load_weights(*state_, job_.weights, false, job_.new_head);
  auto states =
      static_cast<uint64_t>(most_states(loop_, options_.keep, !dev_splits(task_.splits()).empty()));
  constexpr uint64_t kMost = uint64_t{1} << 62;  // beyond any disk
  uint64_t each = checkpoints_->state_bytes();
  uint64_t bytes = states < kMost / each ? each * states + each / 3 : kMost;
  bytes -= std::min(bytes, run_.replaced_bytes());
  require_space(run_.path(), bytes,
                fmt::format("{} checkpoint{} and the model", states, states == 1 ? "" : "s"));
}

void TrainingRun::prepare_evaluation() {
  evaluation_ = std::make_unique<EvaluationRunner>(task_, *state_, compute_type(dtype_));
  EvaluationSize size;
  size.choice = capacity_choice(options_.eval_batch_size);
  size.flag = "eval_batch_size";
  for (const std::string& split : dev_splits(task_.splits())) {
    dev_[split] = evaluation_of(task_, *backend_, *evaluation_, split, size);
    dev_[split].max_batches = job_.max_eval_batches;
  }
  size.may_be_sampled = !is_read_once(job_.test_file);
  if (has_split(task_, "test")) test_ = evaluation_of(task_, *backend_, *evaluation_, "test", size);
}

void TrainingRun::check_batches() {
  CapacityChoice choice;
  choice.batch_size = options_.train_batch_size;
  choice.memory = parse_memory(options_.memory);
  choice.padded_length = task_.padded_length();
  shuffled_bytes_ = require_batch_memory(task_, "train", choice,
                                         {.flag = "train_batch_size",
                                          .one_pass = job_.cut_at_pass_ends,
                                          .shuffle_buffer = shuffle_buffer()});
}

void TrainingRun::log_banner() {
  uint64_t frozen = 0;
  for (const Parameter& p : state_->parameters()) {
    if (!runner_->options().optimizer->learns(p))
      frozen += static_cast<uint64_t>(elements(p.shape));
  }
  log_line("{}: {} parameters{}, {} steps of {} examples, {}, {}", job_.command,
           state_->parameter_count(), frozen > 0 ? fmt::format(", {} of them frozen", frozen) : "",
           job_.steps, options_.train_batch_size, device_text(options_.device, *backend_, threads_),
           dtype_);
  const Capacity& largest = capacities_.back();
  int replicas = backend_->replicas();
  bool parts = largest.examples * replicas < options_.train_batch_size;
  log_line(
      "at most {} tokens are computed at once{}, in {} of memory; a longer batch runs in parts",
      largest.rows * largest.slots,
      replicas > 1 ? fmt::format(" on each of {} devices", replicas) : "",
      readable_bytes(runner_->facts(largest, parts).peak));
}

bool TrainingRun::train_steps() {
  std::function<Json()> evaluate_dev;
  if (!dev_.empty()) {
    evaluate_dev = [&] {
      return scores_of_splits(dev_splits(task_.splits()), [&](const std::string& split) {
        return evaluate(task_, *evaluation_, dev_.at(split), true).scores;
      });
    };
  }
  TrainingStreamOptions data;
  data.batch_size = options_.train_batch_size;
  data.shuffle_buffer = shuffle_buffer();
  data.seed = static_cast<uint64_t>(options_.seed);
  data.cut_at_pass_ends = job_.cut_at_pass_ends;
  data.pack.capacities = capacities_;
  data.pack.replicas = backend_->replicas();
  BatchStream batches = training_batches(task_, data, static_cast<uint64_t>(checkpoints_->step()));
  Journal journal(run_.path(), checkpoints_->step(), job_.steps, options_.log_every);
  bool done = train(loop_, *runner_, *batches, *checkpoints_, journal, evaluate_dev);
  log_line("{:.1f} % of the computed tokens were filling; peak memory {} MiB",
           100 * journal.wasted_share(), peak_memory() >> 20);
  return done;
}

void TrainingRun::publish(std::ostream& out) {
  int64_t step = checkpoints_->load_best();
  const Json& scores = checkpoints_->best_scores();
  write_model(run_.file("model"), task_, job_.config, *job_.tokenizer, *state_,
              {{"step", step}, {"scores", scores}});
  std::string predictions = predict_test();
  int64_t last = checkpoints_->saved_step();
  Json results = {{"step", step}, {"last_step", last}, {"scores", scores}};
  results["model"] = about_model(run_.file("model"));
  if (Json test = about_test(); !test.is_null()) results["test"] = test;
  run_.finish(job_.steps, results);
  std::ostringstream text;
  print_scores(scores, text);
  text << "global_step = " << step << "\nmodel = " << run_.file("model") << "\n";
  if (!predictions.empty()) text << "test_predictions = " << predictions << "\n";
  say(run_, out, text.str());
  log_line("finished: {} steps are done, and the model is that of step {}", last, step);
}

// The file of the test rows' predictions by the model that the state holds; "" where there are none.
std::string TrainingRun::predict_test() {
  if (!has_split(task_, "test")) return "";
  std::string file = run_.file(predictions_file(task_.describe()));
  std::unique_ptr<RowPrinter> printer = make_row_printer("", task_.describe());
  std::unique_ptr<Writer> writer = storage_for(file).create(file, Exists::replace);
  EvaluationResult result = evaluate(task_, *evaluation_, test_, false, [&](const Example& row) {
    std::string line = printer->line(row);
    writer->append(std::as_bytes(std::span(line)));
  });
  writer->commit();
  log_line("{}: {} rows are predicted", job_.test_file, result.rows);
  return file;
}

Error TrainingRun::stopped_by_signal() const {
  int64_t step = checkpoints_ ? checkpoints_->saved_step() : -1;
  if (step < 0) {
    return Error("stopped by a signal before the first step; the same command begins again",
                 ExitCode::retry);
  }
  return Error(
      fmt::format("stopped by a signal; step {} of {} is saved, and the same command goes on "
                  "from there",
                  step, job_.steps),
      ExitCode::retry);
}

// Stopping where the user said is what was asked for, and no failure: exit code 0.
void TrainingRun::leave(std::ostream& out) {
  int64_t step = checkpoints_->saved_step();
  // In the last evaluation a signal comes where the user's step is reached, too: no model is there.
  bool signalled = StopSignals::requested() != 0;
  if (signalled || options_.stop_after == 0 || step < options_.stop_after) {
    throw stopped_by_signal();
  }
  say(run_, out,
      fmt::format("stopped after step {} of {} (--stop_after={}); without it the same command goes "
                  "on\n",
                  step, job_.steps, options_.stop_after));
}

}  // namespace

void print_scores(const Json& scores, std::ostream& out) {
  for (const auto& [name, value] : scores.items()) {
    if (value.is_number()) out << name << " = " << value.dump() << "\n";
  }
}

void check_training(RunDirectory& run, const TrainingJob& job, const TrainingOptions& options) {
  TrainingRun(run, job, options).check();
}

RunRequest request_of(const TrainingJob& job) {
  RunRequest request;
  request.command = job.command;
  request.arguments = job.arguments;
  request.settings = job.settings;
  request.task = job.task->describe();
  request.data = fingerprints(job.data_files);
  request.neutral = neutral_options(!dev_splits(job.task->splits()).empty());
  request.model = {{"config", config_to_hugging_face(job.config)},
                   {"vocabulary", fingerprint_of_lines(job.tokenizer->vocabulary().tokens())}};
  if (!job.weights.empty()) request.model["weights"] = fingerprint_of_checkpoint(job.weights);
  return request;
}

void run_training(RunDirectory& run, const TrainingJob& job, const TrainingOptions& options,
                  std::ostream& out) {
  TrainingRun(run, job, options).run(out);
}

}  // namespace bertrain
