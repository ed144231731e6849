// Options of training: names, presets, checks.
#include "cli/training_options.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.h"
#include "base/machine.h"
#include "train/cadence.h"
#include "train/run_directory.h"

namespace bertrain {
namespace {

struct NamedCorrection {
  std::string_view name;
  AdamWOptions::Correction correction;
};
constexpr NamedCorrection kCorrections[] = {{"none", AdamWOptions::Correction::none},
                                            {"rate", AdamWOptions::Correction::rate},
                                            {"moments", AdamWOptions::Correction::moments}};

void apply_preset(TrainingOptions& o, bool fine_tuning) {
  AdamWOptions adamw = adamw_preset(o.preset);
  o.weight_decay = adamw.weight_decay;
  o.adam_beta1 = adamw.beta1;
  o.adam_beta2 = adamw.beta2;
  o.adam_epsilon = adamw.epsilon;
  for (const NamedCorrection& c : kCorrections) {
    if (c.correction == adamw.correction) o.bias_correction = c.name;
  }
  if (o.preset == "hf") o.decay = "linear_after_warmup";
  // TensorFlow's gradient of looked-up rows is sparse, except where the output layer shares them.
  o.clip_norm_rows =
      fine_tuning && (o.preset == "google" || o.preset == "tf2" || o.preset == "intel");
}

AdamWOptions::Correction correction_of(const TrainingOptions& o) {
  for (const NamedCorrection& c : kCorrections) {
    if (c.name == o.bias_correction) return c.correction;
  }
  throw usage_error("--bias_correction={}: none, rate or moments expected", o.bias_correction);
}

void require_at_least(std::string_view flag, int64_t value, int64_t least) {
  require_between(flag, value, least, std::numeric_limits<int64_t>::max());
}

// The steps compute in single precision: what is beyond it would be an infinity there.
void require_float(std::string_view flag, double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  if (!(value >= 0 && value <= kMost)) {
    throw usage_error("--{}={}: a number from 0 to {:.3g} expected", flag, value, kMost);
  }
}

}  // namespace

void TrainingOptions::each(OptionVisitor& v) {
  v("output_dir", output_dir, "folder of the run: record, log, metrics, checkpoints, model");
  v("num_train_steps", num_train_steps, "updates in all");
  v("train_batch_size", train_batch_size, "examples of an update, however many run at once");
  v("learning_rate", learning_rate, "peak rate");
  v("end_learning_rate", end_learning_rate, "rate at the end of the decay");
  v("decay", decay, "linear, linear_after_warmup or constant");
  v("preset", preset,
    "whose details to follow: google, tf2, hf, jestimator, intel; sets decay, bias_correction, "
    "weight_decay, adam_* and clip_norm_rows where they are not given, and of a new model or a "
    "bert_config.json which gelu (hf: erf) and the norms' epsilon (intel: 1e-3)");
  v("optimizer", optimizer, "adamw");
  v("weight_decay", weight_decay, "decoupled decay; not of biases and norms");
  v("adam_beta1", adam_beta1, "decay of the mean of gradients");
  v("adam_beta2", adam_beta2, "decay of the mean of squared gradients");
  v("adam_epsilon", adam_epsilon, "added to the root of the mean square");
  v("bias_correction", bias_correction, "of the means: none, rate or moments");
  v("layer_decay", layer_decay,
    "factor of the rate from each layer to the one below it; the head and the pooler have all of "
    "it, the embeddings the least");
  v("freeze", freeze,
    "parts that do not learn, as embeddings,0-8: embeddings, pooler, layers by number from 0, or "
    "encoder for all of these");
  v("clip_norm", clip_norm, "largest norm of the whole gradient; 0: no clipping");
  v("clip_norm_rows", clip_norm_rows,
    "count word-embedding gradients row by row in that norm, as TensorFlow does");
  v("accumulate", accumulate, "parts of a batch whose gradients are summed; 0: as memory needs");
  v("shuffle_buffer", shuffle_buffer,
    "examples that are shuffled at a time, and files of records as such; 1: file order; 0: all of "
    "a table, 10000 of records");
  v("seed", seed, "of first weights, shuffles and dropout");
  v("device", device,
    "cpu, gpu, tpu, plugin:PATH (a PJRT plugin) or reference (plain loops, for checking)");
  v("replicas", replicas, "devices of a plugin to use; 0: all (of one for the CPU, one)");
  v("dtype", dtype, "fp32 or bf16 activations");
  v("threads", threads, "0: as many as the machine or its cgroup allows");
  v("memory", memory, "limit as 8GiB or 75%; empty: 80% of what the machine or cgroup allows");
  v("eval_batch_size", eval_batch_size, "examples at a time in evaluation; changes no result");
  v("eval_every", eval_every,
    "steps (500), epochs (1epoch), time (10m), never or 0; always at the end");
  v("best_metric", best_metric, "score that decides which model is kept (default: the task's)");
  v("early_stopping", early_stopping,
    "evaluations in a row without a better model after which the run ends; 0: it goes to its end");
  v("save_every", save_every, "checkpoint as often, in the same units; always at the end");
  v("keep", keep, "newest checkpoints that are kept; the best one is kept besides");
  v("log_every", log_every, "steps between log lines");
  v("stop_after", stop_after,
    "save and leave after this step, with exit code 0; without it the run goes on; 0: to the end");
  v("resume", resume, "auto, never, require, or inexact (go on although settings changed)");
  v("overwrite", overwrite, "remove an earlier run in output_dir first");
}

std::vector<std::string> neutral_options(bool evaluates) {
  std::vector<std::string> names = {"output_dir", "threads",   "replicas",  "memory",
                                    "save_every", "keep",      "log_every", "stop_after",
                                    "resume",     "overwrite", "test_file", "eval_batch_size"};
  if (!evaluates) names.emplace_back("eval_every");  // else it decides which model is the best
  return names;
}

void parse_training_options(std::span<const std::string_view> args, const EachOption& visit,
                            TrainingOptions& options, ModelOptions& model, bool fine_tuning) {
  parse_only_options(args, visit);
  apply_preset(options, fine_tuning);
  model.read_init_checkpoint();
  parse_only_options(args, visit);  // what was given stands over what was found
}

void check_warmup_steps(int64_t num_warmup_steps) {
  if (num_warmup_steps >= -1 && num_warmup_steps <= kMaxSteps) return;
  throw usage_error("--num_warmup_steps={}: a number of steps, or -1, expected; at most {}",
                    num_warmup_steps, kMaxSteps);
}

void check_training_options(const TrainingOptions& o) {
  if (o.output_dir.empty()) throw usage_error("--output_dir is needed: the folder of the run");
  require_between("train_batch_size", o.train_batch_size, 1, kMaxBatchSize);
  require_between("eval_batch_size", o.eval_batch_size, 1, kMaxBatchSize);
  require_between("num_train_steps", o.num_train_steps, 0, kMaxSteps);
  require_at_least("accumulate", o.accumulate, 0);
  require_at_least("shuffle_buffer", o.shuffle_buffer, 0);
  require_at_least("seed", o.seed, 0);
  require_between("threads", o.threads, 0, kMaxThreads);
  require_between("replicas", o.replicas, 0, kMaxReplicas);
  require_at_least("keep", o.keep, 1);
  require_at_least("log_every", o.log_every, 1);
  require_between("stop_after", o.stop_after, 0, kMaxSteps);
  require_between("early_stopping", o.early_stopping, 0, kMaxSteps);
  require_float("learning_rate", o.learning_rate);
  require_float("end_learning_rate", o.end_learning_rate);
  require_float("clip_norm", o.clip_norm);
  require_float("weight_decay", o.weight_decay);
  require_float("adam_epsilon", o.adam_epsilon);
  for (auto [flag, beta] : {std::pair("adam_beta1", o.adam_beta1), {"adam_beta2", o.adam_beta2}}) {
    if (beta >= 0 && beta < 1) continue;
    throw usage_error("--{}={}: a share from 0 to below 1 expected", flag, beta);
  }
  if (o.accumulate > o.train_batch_size) {
    throw usage_error("--accumulate={} is more than --train_batch_size={}", o.accumulate,
                      o.train_batch_size);
  }
  if (o.decay == "constant" && o.end_learning_rate != 0) {
    throw usage_error("--end_learning_rate={} has no effect: --decay=constant does not get there",
                      o.end_learning_rate);
  }
  if (o.optimizer != "adamw") {
    throw usage_error("--optimizer={}: this build has adamw only", o.optimizer);
  }
  if (o.best_metric.ends_with("eval_count")) {
    throw usage_error(
        "--best_metric={}: the number of rows is the same for every model; a score, as eval_loss, "
        "is expected",
        o.best_metric);
  }
  parse_cadence("eval_every", o.eval_every);
  parse_cadence("save_every", o.save_every);
  parse_resume(o.resume);
  parse_decay(o.decay);
  parse_memory(o.memory);
  compute_type(o.dtype);
  correction_of(o);
  adamw_preset(o.preset);
}

int64_t patience_of(const TrainingOptions& o, bool has_dev) {
  if (o.early_stopping > 0 && (!has_dev || o.eval_every == "never")) {
    throw usage_error("--early_stopping={}: nothing is evaluated on the way to stop by",
                      o.early_stopping);
  }
  return o.early_stopping;
}

AdamWOptions adamw_options(const TrainingOptions& o, int64_t layers) {
  AdamWOptions adamw = adamw_preset(o.preset);  // its list of what is not decayed
  adamw.beta1 = o.adam_beta1;
  adamw.beta2 = o.adam_beta2;
  adamw.epsilon = o.adam_epsilon;
  adamw.weight_decay = o.weight_decay;
  adamw.correction = correction_of(o);
  adamw.factors = parse_rate_factors(o.freeze, o.layer_decay, layers);
  return adamw;
}

StepOptions step_options(const TrainingOptions& o, int64_t layers, DType compute) {
  StepOptions step;
  step.optimizer = make_adamw(adamw_options(o, layers));
  step.clip_norm = o.clip_norm;
  step.clip_norm_rows = o.clip_norm_rows;
  step.compute = compute;
  step.seed = static_cast<uint64_t>(o.seed);
  return step;
}

DType compute_type(const std::string& dtype) {
  if (dtype == "fp32") return DType::f32;
  if (dtype == "bf16") return DType::bf16;
  throw usage_error("--dtype={}: fp32 or bf16 expected", dtype);
}

uint64_t parse_memory(const std::string& text, std::optional<uint64_t> all) {
  double usable = static_cast<double>(all ? *all : usable_memory());
  if (text.empty()) return static_cast<uint64_t>(usable * 0.8);
  double number = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1},      {"B", 1},      {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 1024}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
      {"K", 1024},  {"M", 0x1p20}, {"G", 0x1p30}};
  double bytes = -1;
  if (unit == "%" && number <= 100) bytes = usable * number / 100;
  for (const auto& [name, factor] : kUnits) {
    if (unit == name) bytes = number * factor;
  }
  if (code != std::errc() || !(bytes >= 1) || bytes > 0x1p60) {
    throw usage_error("--memory={}: a size as 8GiB, 500MB or 75% expected", text);
  }
  return static_cast<uint64_t>(bytes);
}

bool higher_is_better(const std::string& metric) { return !metric.ends_with("loss"); }

}  // namespace bertrain
