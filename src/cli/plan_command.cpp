// Compiles a training step of full rows for a device, here or not, and prints what the compiler says.
#include "cli/plan_command.h"

#include <algorithm>
#include <limits>
#include <ostream>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "cli/devices.h"
#include "cli/hardware.h"
#include "cli/model_source.h"
#include "cli/training_options.h"
#include "storage/disk_space.h"
#include "task/catalog/catalog.h"
#include "train/step.h"

namespace bertrain {
namespace {

struct PlanOptions {
  std::string model, bert_config_file, preset = "google", task = "pretraining";
  std::string device = "cpu", dtype = "fp32", memory;
  int64_t vocab_size = 30522, num_labels = 2, train_batch_size = 32, accumulate = 1;
  int64_t max_seq_length = 128, max_predictions_per_seq = 20, replicas = 0, threads = 0;
  bool recompute = false, unroll = false;

  EachOption each() {
    return [this](OptionVisitor& v) {
      v("model", model, "shape: tiny, mini, small, medium, base or large");
      v("bert_config_file", bert_config_file, "shape: a bert_config.json or config.json");
      v("vocab_size", vocab_size, "rows of the word table, with --model");
      v("preset", preset, "numerics: google, tf2, hf, jestimator or intel");
      v("task", task, "pretraining or classification");
      v("num_labels", num_labels, "classes of a classification");
      v("train_batch_size", train_batch_size, "examples of a step, over all devices");
      v("accumulate", accumulate, "parts that a device runs its share of a step in");
      v("max_seq_length", max_seq_length, "tokens of an example; all are taken to be this long");
      v("max_predictions_per_seq", max_predictions_per_seq,
        "masked positions of an example, of a shorter one all");
      v("device", device,
        "cpu, gpu, tpu, plugin:PATH; or hardware that is not here: tpu:v2-8, v2-32, v3-8, v4-8, "
        "v5e-4, v5p-8, v6e-4 (libtpu), gpu:h100, h100-8 (the CUDA plugin)");
      v("replicas", replicas, "devices to use; 0: all");
      v("dtype", dtype, "fp32 or bf16 activations");
      v("recompute", recompute, "keep only each layer's input for the backward pass");
      v("unroll", unroll, "compile every layer by itself instead of a loop over layers");
      v("threads", threads, "0: as many as the machine or its cgroup allows (cpu)");
      v("memory", memory,
        "limit as 8GiB or 75%; empty: 90% of the device's own, of the machine's 80% of what is "
        "allowed");
    };
  }
};

void check_options(const PlanOptions& o) {
  require_between("vocab_size", o.vocab_size, 1, std::numeric_limits<int32_t>::max());
  require_between("num_labels", o.num_labels, 2, 10000);
  require_between("train_batch_size", o.train_batch_size, 1, kMaxBatchSize);
  require_between("accumulate", o.accumulate, 1, o.train_batch_size);
  require_between("max_predictions_per_seq", o.max_predictions_per_seq, 1, kMaxBatchSize);
  require_between("replicas", o.replicas, 0, kMaxReplicas);
  require_between("threads", o.threads, 0, kMaxThreads);
}

// A task of that shape, of which no example is ever read.
std::unique_ptr<Task> make_task_of(const PlanOptions& o, const BertConfig& config) {
  TaskOptions options;
  options.config = config;
  if (o.task == "pretraining") {
    options.pretraining.max_seq_length = o.max_seq_length;
    options.pretraining.max_predictions_per_seq = o.max_predictions_per_seq;
    return make_task(o.task, options);
  }
  if (o.task != "classification") {
    throw usage_error("--task={}: pretraining or classification expected", o.task);
  }
  Json labels = Json::array();
  for (int64_t i = 0; i < o.num_labels; ++i) labels.push_back(std::to_string(i));
  Json description = {{"task", o.task}, {"labels", labels}};
  options.classification.max_seq_length = o.max_seq_length;
  options.tokenizer = std::make_shared<Tokenizer>(
      Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}), TokenizerOptions{});
  return make_task(o.task, options, &description);
}

// What one replica holds at once of a batch of full rows.
Capacity capacity_of(const PlanOptions& o, const Backend& backend, bool has_targets) {
  int64_t parts = backend.replicas() * o.accumulate;
  int64_t examples = (o.train_batch_size + parts - 1) / parts;
  int64_t targets = has_targets ? examples * o.max_predictions_per_seq : 0;
  if (backend.row_slots(o.max_seq_length) == 0) {
    return {1, examples * o.max_seq_length, examples, targets};
  }
  return {examples, o.max_seq_length, examples, targets};
}

struct Device {
  std::unique_ptr<Backend> backend;
  std::string what;
  ProgramMemory memory;  // as a training there would have it
};

Device open_device(const PlanOptions& o) {
  std::optional<int64_t> least_turns;
  if (o.unroll) least_turns = 0;
  Device device;
  if (!is_hardware(o.device)) {
    device.backend = open_backend(o.device, {loop_threads(), parse_memory(o.memory), nullptr, {}},
                                  o.replicas, least_turns);
    device.what = o.device;
    device.memory = program_memory(*device.backend, o.memory);
    return device;
  }
  const Hardware& hardware = hardware_named(o.device);
  PluginTarget target = target_of(hardware);
  target.least_turns = least_turns;
  if (o.replicas > hardware.replicas) {
    throw usage_error("--replicas={}: {} has no more than {}", o.replicas, o.device,
                      hardware.replicas);
  }
  if (o.replicas > 0) target.devices = static_cast<int>(o.replicas);
  device.what = fmt::format("{} ({}; compiled without it)", o.device, hardware.what);
  device.backend = make_plugin_backend(target, {});
  device.memory = program_memory(*device.backend, o.memory, hardware.memory);
  return device;
}

// What cannot fit whatever the compiler does is not compiled: that may take long, and plugins end
// the process over sizes that they do not expect.
void require_room(const BertConfig& config, StepRunner& runner, const Capacity& capacity,
                  bool accumulates, const Device& device) {
  if (capacity.rows > INT32_MAX / capacity.slots) {
    throw usage_error(
        "{} x {} tokens a device are more than indices can count (2^31): a smaller "
        "--train_batch_size or a larger --accumulate is expected",
        capacity.rows, capacity.slots);
  }
  if (device.memory.bytes == 0) return;
  require_memory(config, true, device.memory);
  uint64_t bytes = runner.inputs(capacity, accumulates);
  if (bytes <= device.memory.bytes) return;
  throw error(
      "parameters, optimizer and batch alone need {} of {}: a smaller --train_batch_size or "
      "a larger --accumulate is expected",
      readable_bytes(bytes), readable_bytes(device.memory.bytes));
}

std::string top_operations(const Named<int64_t>& operations) {
  std::vector<std::pair<int64_t, std::string>> sorted;
  int64_t all = 0;
  for (const auto& [name, count] : operations) {
    sorted.emplace_back(count, name);
    all += count;
  }
  std::sort(sorted.rbegin(), sorted.rend());
  std::string text = std::to_string(all);
  for (size_t i = 0; i < std::min<size_t>(sorted.size(), 6); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? ": " : ", ", sorted[i].second, sorted[i].first);
  }
  return text;
}

void print_facts(const ProgramFacts& facts, bool accumulates, std::ostream& out) {
  out << "arguments = " << readable_bytes(facts.arguments) << "  (parameters, "
      << (accumulates ? "sums of gradients" : "optimizer")
      << ", batch; of one device, as all that follows)\n"
      << "temporary = " << readable_bytes(facts.temporary) << "\n"
      << "peak = " << readable_bytes(facts.peak) << "\n";
  if (facts.flops > 0) out << fmt::format("flops = {:.4g}\n", facts.flops);
  if (facts.bytes > 0) out << fmt::format("bytes_moved = {:.4g}\n", facts.bytes);
  if (!facts.operations.empty()) {
    out << "operations = " << top_operations(facts.operations) << "\n";
  }
  out << fmt::format("compile_seconds = {:.1f}\n", facts.compile_seconds);
}

void run_plan(Args args, std::ostream& out) {
  PlanOptions o;
  if (wants_help(args)) return print_help(kPlanCommand, o.each(), out);
  parse_only_options(args, o.each());
  check_options(o);
  use_threads(o.threads);
  BertConfig config =
      model_shape(o.model, o.bert_config_file, o.preset, static_cast<size_t>(o.vocab_size));
  require_between("max_seq_length", o.max_seq_length, 1, config.positions());
  o.max_predictions_per_seq = std::min(o.max_predictions_per_seq, o.max_seq_length);
  config.recompute = config.recompute || o.recompute;
  std::unique_ptr<Task> task = make_task_of(o, config);
  Device device = open_device(o);

  StepOptions step;
  step.optimizer = make_adamw(adamw_preset(o.preset));
  step.schedule = {5e-5, 0, 1000, 100};
  step.compute = compute_type(o.dtype);
  State state(*device.backend, parameters_of(*task), step.optimizer.get());
  StepRunner runner(*task, state, step);
  Capacity capacity = capacity_of(o, *device.backend, task->max_targets() > 0);
  out << "device = " << device.what << ", " << device.backend->replicas() << " in use\n"
      << "parameters = " << state.parameter_count() << "\n"
      << fmt::format("step = {} of {} x {} tokens a device, {}{}\n", o.task, capacity.examples,
                     o.max_seq_length, o.dtype,
                     o.accumulate > 1 ? fmt::format(", {} times", o.accumulate) : "");
  bool accumulates = o.accumulate > 1;
  require_room(config, runner, capacity, accumulates, device);
  log_line("plan: compiling the step");
  print_facts(runner.facts(capacity, accumulates), accumulates, out);
  if (uint64_t slots = runner.slots_beside(accumulates)) {
    out << "optimizer = " << readable_bytes(slots) << "  (beside the peak of a part of a step)\n";
  }
  uint64_t peak = runner.peak(capacity, accumulates), memory = device.memory.bytes;
  if (peak > memory) {
    out << "fits = no\n" << std::flush;
    throw error(
        "a step needs {}, and may take {}: a smaller --train_batch_size, a larger --accumulate, "
        "--recompute or --dtype=bf16 need less",
        readable_bytes(peak), readable_bytes(memory));
  }
  out << fmt::format("fits = yes, in {} of {} ({:.0f} %)\n", readable_bytes(peak),
                     readable_bytes(memory),
                     100.0 * static_cast<double>(peak) / static_cast<double>(memory));
}

}  // namespace

const Command kPlanCommand = {
    "plan", "what a training step would need of a device, here or not",
    "bertrain plan --model=base --train_batch_size=256 --device=tpu:v3-8\n"
    "bertrain plan --model=large --max_seq_length=512 --dtype=bf16 --device=gpu:h100\n"
    "bertrain plan --model=mini --task=classification --num_labels=20 --memory=2GiB",
    run_plan};

}  // namespace bertrain
