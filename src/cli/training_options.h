// The options that pretrain and finetune share, and what they mean to the training loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/model_source.h"
#include "cli/options.h"
#include "optim/adamw.h"
#include "optim/schedule.h"
#include "train/step.h"

namespace bertrain {

struct TrainingOptions {
  std::string output_dir, preset = "google", optimizer = "adamw", decay = "linear";
  std::string device = "cpu", dtype = "fp32", memory;
  std::string eval_every = "never", save_every = "10m", resume = "auto";
  std::string bias_correction = "none", best_metric, freeze;
  int64_t train_batch_size = 32, eval_batch_size = 32, num_train_steps = 0;
  int64_t accumulate = 0, replicas = 0, shuffle_buffer = 0, seed = 12345, threads = 0;
  int64_t log_every = 10, keep = 2, stop_after = 0, early_stopping = 0;
  double learning_rate = 5e-5, end_learning_rate = 0, clip_norm = 1;
  double weight_decay = 0.01, adam_beta1 = 0.9, adam_beta2 = 0.999, adam_epsilon = 1e-6;
  double layer_decay = 1;
  bool clip_norm_rows = false, overwrite = false;

  void each(OptionVisitor& v);
};

// Names that may change between starts of one run: they do not change its model, or (threads, memory)
// what follows from them is kept in run.json. `evaluates`: on rows that are scored while it trains.
std::vector<std::string> neutral_options(bool evaluates);

// Parses, with the preset's values and those of the initial checkpoint as defaults of the flags
// that they concern: an explicit flag wins over both. `visit` lists all options of the command,
// `options` and `model` among them.
void parse_training_options(std::span<const std::string_view> args, const EachOption& visit,
                            TrainingOptions& options, ModelOptions& model, bool fine_tuning);

// Steps of rising rate, or -1 (the command's default); else a usage error.
void check_warmup_steps(int64_t num_warmup_steps);

// Checks ranges; throws usage errors that name the flag.
void check_training_options(const TrainingOptions& options);

// Of early_stopping; a usage error where it is set and no evaluation comes before the end.
int64_t patience_of(const TrainingOptions& options, bool has_dev);

// Of a model of so many layers; usage errors for parts and factors that it does not have.
AdamWOptions adamw_options(const TrainingOptions& options, int64_t layers);
// All of a step but its schedule, for a model of so many layers.
StepOptions step_options(const TrainingOptions& options, int64_t layers, DType compute);
DType compute_type(const std::string& dtype);  // fp32 | bf16; else a usage error

// "8GiB", "500MB", "75%", plain bytes, "" (80 % of all). all: what there is; absent: what the machine
// or its cgroup allows.
uint64_t parse_memory(const std::string& text, std::optional<uint64_t> all = {});

// Higher is better, except for losses.
bool higher_is_better(const std::string& metric);

}  // namespace bertrain
