// Times whole pre-training steps (forward, backward, norm, AdamW) of BERT shapes, as a share of what the multipliers give
// at that moment; prints the seconds by op and the peak memory. Usage: step_bench [base|mini|tiny|thin [SEQUENCES [TOKENS [PLUGIN
// [LEAST TURNS OF A LOOP]]]]]
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/cpu/kernels/peak.h"
#include "base/rng.h"
#include "data/packer.h"
#include "optim/adamw.h"
#include "task/pretraining.h"
#include "train/step.h"

namespace bertrain {
namespace {

struct Shape3 {
  std::string_view name;
  int64_t layers, hidden, sequences;
};
constexpr Shape3 kShapes[] = {{"base", 12, 768, 16},
                              {"mini", 4, 256, 32},
                              {"tiny", 2, 128, 32},
                              {"thin", 12, 64, 2}};  // as many arrays as base: the host shows

// Random sequences without padding, 15 % of the tokens masked.
Example random_example(uint32_t number, int64_t tokens, int64_t vocabulary) {
  std::vector<int64_t> ids, segments, positions, labels;
  for (int64_t i = 0; i < tokens; ++i) {
    ids.push_back(static_cast<int64_t>(
        below({number, 7}, static_cast<uint64_t>(i), static_cast<uint64_t>(vocabulary))));
    segments.push_back(i >= tokens / 2);
    if (i % 7 == 3) positions.push_back(i), labels.push_back(ids.back());
  }
  std::vector<float> weights(positions.size(), 1.0f);
  return {{"input_ids", ids},
          {"segment_ids", segments},
          {"target_positions", positions},
          {"masked_lm_ids", labels},
          {"masked_lm_weights", weights},
          {"next_sentence_labels", std::vector<int64_t>{number % 2}}};
}

// The products of matrices with weights and of attention, forward and backward, as the multiplications that must be made.
double useful_flops(const BertConfig& c, int64_t sequences, int64_t tokens, int64_t targets) {
  double h = static_cast<double>(c.hidden_size), t = static_cast<double>(sequences * tokens),
         s = static_cast<double>(tokens);
  double layer = 72 * h * h * t + 12 * h * s * t;
  double head = 6 * (h * h + h * static_cast<double>(c.vocab_size)) * static_cast<double>(targets);
  return static_cast<double>(c.num_hidden_layers) * layer + head;
}

struct Device {
  std::string plugin;                  // empty: the CPU backend
  std::optional<int64_t> least_turns;  // absent: the backend's default
};

// Processor time of this thread: what it does, without what it waits for.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// handed_over: when the latest program was given to the plugin, by that clock.
std::unique_ptr<Backend> open(const Device& device, double& handed_over) {
  if (device.plugin.empty()) return make_cpu_backend({});
  PluginTarget target;
  target.path = device.plugin;
  target.least_turns = device.least_turns;
  BackendOptions options;
  options.between_calls = [&handed_over] { handed_over = thread_seconds(); };
  return make_plugin_backend(target, options);
}

// The best of five: a plugin's threads look for work for a while after a step, and other work of the
// machine passes, but nothing makes it faster than it is.
double burst(const Device& device) {
  if (device.plugin.empty()) return fma_burst(0.005);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  double best = 0;
  for (int i = 0; i < 5; ++i) best = std::max(best, fma_burst(0.005));
  return best;
}

// What the host does while a device waits for it: from the results of a step until the next is handed
// over. Beside it: what it does while the device computes, sending the next batch left out.
void print_host_time(StepRunner& runner, const std::vector<Batch>& batch, double step_seconds,
                     const double& handed_over) {
  double least = 1e9, beside = 1e9;
  for (uint64_t i = 0; i < 8; ++i) {
    SentStep sent = runner.send(100 + i, batch);
    double start = thread_seconds();
    runner.start(sent);
    double started = thread_seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(step_seconds + 0.2));
    double ready = thread_seconds();
    runner.finish();
    least = std::min(least, handed_over - start + thread_seconds() - ready);
    beside = std::min(beside, started - handed_over);
  }
  fmt::print(
      "host time outside execution: {:.3f} ms = {:.3f} % of the step; handing over and what "
      "follows, beside it: {:.3f} ms\n",
      1e3 * least, 100 * least / step_seconds, 1e3 * beside);
}

void run(const Shape3& shape, int64_t sequences, int64_t tokens, const Device& device) {
  BertConfig config;
  config.vocab_size = 30522;
  config.hidden_size = shape.hidden;
  config.num_hidden_layers = shape.layers;
  config.num_attention_heads = shape.hidden / 64;
  config.intermediate_size = 4 * shape.hidden;
  config.type_vocab_size = 2;

  std::vector<Example> examples;
  for (int64_t i = 0; i < sequences; ++i)
    examples.push_back(random_example(static_cast<uint32_t>(i), tokens, config.vocab_size));
  int64_t targets =
      static_cast<int64_t>(std::get<std::vector<int64_t>>(examples[0]["target_positions"]).size()) *
      sequences;
  PretrainingOptions options;
  options.max_seq_length = tokens, options.max_predictions_per_seq = tokens;
  auto task = make_pretraining(options, config);
  PackOptions packing;
  bool rows = !device.plugin.empty();
  packing.capacities = {
      {rows ? sequences : 1, rows ? tokens : sequences * tokens, sequences, targets}};
  std::vector<Batch> batch = pack(examples, task->schema(), packing, 0);

  double handed_over = 0;
  auto backend = open(device, handed_over);
  auto optimizer = std::shared_ptr<const Optimizer>(make_adamw({}));
  State state(*backend, parameters_of(*task), optimizer.get());
  state.initialise(1);
  StepOptions step;
  step.optimizer = optimizer;
  step.schedule = {1e-4, 0, 1000, 10};
  StepRunner runner(*task, state, step);
  double flops = useful_flops(config, sequences, tokens, targets);
  struct Timed {
    double seconds, burst;  // the lower of those before and after
  };
  std::vector<Timed> steps;
  double best_burst = 0, fastest = 1e9;
  StepResult result;
  for (uint64_t i = 0; i < 8; ++i) {
    double before = burst(device), start = wall_seconds();
    result = runner.run(i, batch);
    double spent = wall_seconds() - start, after = burst(device);
    steps.push_back({spent, std::min(before, after)});
    best_burst = std::max({best_burst, before, after});
    fastest = std::min(fastest, spent);
  }
  // The first step compiles; a spell of half the rate shows in a burst.
  std::vector<double> kept;
  for (size_t i = 0; i < steps.size(); ++i) {
    bool steady = i > 0 && steps[i].burst >= 0.92 * best_burst;
    if (steady) kept.push_back(steps[i].seconds);
    fmt::print("step {}: {:.3f} s, {:.1f} % of the best burst{}\n", i, steps[i].seconds,
               100 * flops / steps[i].seconds / best_burst, steady ? "" : " (thrown away)");
  }
  if (!device.plugin.empty()) print_host_time(runner, batch, fastest, handed_over);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::sort(kept.begin(), kept.end());
  double seconds = kept.empty() ? 0 : kept[kept.size() / 2];
  fmt::print("{}: {} x {} tokens, {:.1f} GFLOP a step, {}, loss {:.4f}, peak memory {} MiB\n",
             shape.name, sequences, tokens, flops / 1e9,
             kept.empty()
                 ? "no step was steady"
                 : fmt::format("median of {} {:.3f} s = {:.1f} % of peak, {:.2f} sequences/s",
                               kept.size(), seconds, 100 * flops / seconds / best_burst,
                               static_cast<double>(sequences) / seconds),
             result.loss, usage.ru_maxrss / 1024);
}

}  // namespace
}  // namespace bertrain

int main(int argc, char** argv) {
  std::string_view name = argc > 1 ? argv[1] : "base";
  for (const auto& shape : bertrain::kShapes) {
    if (shape.name != name) continue;
    bertrain::run(shape, argc > 2 ? std::stoll(argv[2]) : shape.sequences,
                  argc > 3 ? std::stoll(argv[3]) : 128,
                  {argc > 4 ? argv[4] : "",
                   argc > 5 ? std::optional<int64_t>(std::stoll(argv[5])) : std::nullopt});
  }
}
