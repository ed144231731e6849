// From the sizes of examples and the peak of programs to capacities.
#include "train/capacities.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "storage/disk_space.h"
#include "train/training_stream.h"

namespace bertrain {
namespace {

constexpr size_t kSample = 2000;  // examples; their mean length is known to a per cent or two

int64_t slots_of(const Capacity& capacity) { return capacity.rows * capacity.slots; }

// The slots that fit in memory, by a line through the peaks of two capacities; at most the larger's.
int64_t slots_within(uint64_t memory, const Capacity& small, const Capacity& large,
                     const PeakOf& peak_of) {
  int64_t least = slots_of(small), most = slots_of(large);
  if (most <= least) return least;
  auto low = static_cast<double>(peak_of(small, true));
  auto high = static_cast<double>(peak_of(large, true));
  double per_slot = (high - low) / static_cast<double>(most - least);
  double room = static_cast<double>(memory) - low;
  if (per_slot <= 0 || room <= 0) return least;
  double more = std::min(room / per_slot * 0.98, static_cast<double>(most - least));
  return least + static_cast<int64_t>(more);
}

// More than any memory: a program that could not be compiled for want of it.
constexpr uint64_t kTooMuch = std::numeric_limits<uint64_t>::max() / 2;

// Compilers of devices may take minutes each time; then it is said what for.
PeakOf peak_or_too_much(const PeakOf& peak_of) {
  return [&peak_of](const Capacity& capacity, bool parts) {
    auto start = std::chrono::steady_clock::now();
    uint64_t peak = kTooMuch;
    try {
      peak = peak_of(capacity, parts);
    } catch (const Error& e) {
      if (!e.lacks_memory()) throw;
    }
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (seconds.count() >= 5) {
      log_line("compiled {} tokens at once in {:.0f} s: {}", slots_of(capacity), seconds.count(),
               peak == kTooMuch ? "more than the device's memory" : readable_bytes(peak));
    }
    return peak;
  };
}

}  // namespace

std::vector<Capacity> fitting_capacities(CapacityNeeds needs, const CapacityChoice& choice,
                                         const PeakOf& peak_of_compiled) {
  uint64_t memory = choice.memory;
  PeakOf peak_of = peak_or_too_much(peak_of_compiled);
  CapacityChooser chooser(needs);
  std::vector<Capacity> capacities = chooser.choose(needs.budget);
  if (memory == 0) return capacities;
  uint64_t whole = peak_of(capacities.back(), false);
  if (whole <= memory) return capacities;
  CapacityNeeds one = needs;
  one.batch_size = one.replicas = 1;
  Capacity smallest = choose_capacities(one).back();
  uint64_t least = peak_of_compiled(smallest, true);
  if (least > memory) {
    throw usage_error(
        "a step on a single example needs {} bytes of {}, {} are allowed: raise --memory{}, lower "
        "--max_seq_length or take a smaller model",
        least, choice.of_device ? "the device's memory" : "memory", memory,
        choice.of_device ? " if it has more" : "");
  }
  if (capacities.back() == smallest) return capacities;
  // A part of a batch takes hardly less than the whole where both are of one size, so that what was
  // refused is not asked for again.
  bool known = whole < kTooMuch && peak_of(capacities.back(), true) < kTooMuch;
  needs.budget = known ? slots_within(memory, smallest, capacities.back(), peak_of)
                       : slots_of(capacities.back()) / 2;
  while (true) {
    needs.budget = std::max(needs.budget, slots_of(smallest));
    capacities = chooser.choose(needs.budget);
    if (slots_of(capacities.back()) <= slots_of(smallest)) return capacities;
    uint64_t peak = peak_of(capacities.back(), true);
    if (peak <= memory) return capacities;
    needs.budget = peak < kTooMuch ? needs.budget / 10 * 9 : needs.budget / 2;
  }
}

namespace {

CapacityNeeds needs_of(const Task& task, const Backend& backend, std::string_view split,
                       const CapacityChoice& choice) {
  CapacityNeeds needs;
  if (!split.empty()) {
    needs.sample = sample_sizes(*task.examples(split), kSample, choice.padded_length);
  }
  int64_t parts = std::clamp<int64_t>(choice.accumulate, 1, choice.batch_size);
  needs.batch_size = (choice.batch_size + parts - 1) / parts;
  needs.replicas = backend.replicas();
  needs.longest = std::max(task.max_seq_length(), choice.padded_length);
  needs.most_targets = task.max_targets();
  needs.row_slots = backend.row_slots(needs.longest);
  return needs;
}

// Devices that have nothing to do are no mistake in the results, but seldom what is wanted. Batches of
// rows that are counted end with a pass over them.
void warn_of_idle_replicas(const Task& task, std::string_view split, const CapacityNeeds& needs) {
  int64_t examples = needs.batch_size;
  std::string why;
  if (auto all = task.count(split); all && static_cast<int64_t>(*all) < examples) {
    examples = static_cast<int64_t>(*all);
    why = fmt::format(", as the {} rows are no more", split);
  }
  if (examples < 1 || examples >= needs.replicas) return;
  log_warning(fmt::format(
      "at most {} example{} computed at a time{}: {} of {} devices have nothing to do; results are "
      "the same with --replicas={}",
      examples, examples == 1 ? " is" : "s are", why, needs.replicas - examples, needs.replicas,
      examples));
}

// Examples that a shuffle holds: `buffer`, or all of the split if it has fewer; those beyond `most`
// are not counted.
uint64_t shuffled(const Task& task, std::string_view split, uint64_t buffer, uint64_t most) {
  if (auto all = task.count(split)) return std::min(buffer, *all);
  if (buffer <= most) return buffer;
  return count_examples(task, split, most + 1, "the examples to shuffle");
}

// Of a training step, alone or as one of several `parts` of a batch.
uint64_t training_peak(StepRunner& runner, const Capacity& capacity, bool parts,
                       const CapacityChoice& choice) {
  return runner.peak(capacity, parts || choice.accumulate > 1);
}

}  // namespace

std::string beyond_memory(StepRunner& runner, const Capacity& kept, int64_t replicas,
                          const CapacityChoice& choice) {
  bool parts = kept.examples * replicas < choice.batch_size;
  try {
    uint64_t peak = training_peak(runner, kept, parts, choice);
    if (choice.memory == 0 || peak <= choice.memory + choice.memory / 8) return "";
    return fmt::format("its steps take {} of memory, {} are allowed: raise --memory",
                       readable_bytes(peak), readable_bytes(choice.memory));
  } catch (const Error& e) {
    if (!e.lacks_memory()) throw;
    return fmt::format("its steps take more memory than there is ({})", e.what());
  }
}

std::vector<Capacity> training_capacities(const Task& task, const Backend& backend,
                                          StepRunner& runner, std::string_view split,
                                          const CapacityChoice& choice) {
  CapacityChoice padded = choice;
  padded.padded_length = std::max(choice.padded_length, task.padded_length());
  CapacityNeeds needs = needs_of(task, backend, split, padded);
  warn_of_idle_replicas(task, split, needs);
  return fitting_capacities(std::move(needs), choice, [&](const Capacity& capacity, bool parts) {
    return training_peak(runner, capacity, parts, choice);
  });
}

std::vector<Capacity> evaluation_capacities(const Task& task, const Backend& backend,
                                            EvaluationRunner& runner, std::string_view split,
                                            const CapacityChoice& choice) {
  return fitting_capacities(needs_of(task, backend, split, choice), choice,
                            [&](const Capacity& capacity, bool) {
                              return runner.facts(capacity).peak + choice.slot_bytes;
                            });
}

uint64_t require_batch_memory(const Task& task, std::string_view split,
                              const CapacityChoice& choice, const BatchMemory& batch) {
  // An example as it is read holds 64-bit numbers (ids and segments; position, id and weight of a
  // target) under names; packed, 24 bytes a slot and 12 a target. Of packed batches two wait, one is
  // made and one is computed, while one is being read (in training one of the two waits on the device).
  constexpr double kNames = 1000, kPacked = 4;
  std::vector<ExampleSize> sample =
      sample_sizes(*task.examples(split), kSample, choice.padded_length);
  if (choice.memory == 0 || sample.empty()) return 0;
  double slots = 0, targets = 0;
  for (const ExampleSize& size : sample) {
    slots += static_cast<double>(size.slots);
    targets += static_cast<double>(size.targets);
  }
  auto count = static_cast<double>(sample.size());
  double as_read = kNames + 16 * slots / count + 24 * targets / count;
  double example = as_read + kPacked * (24 * slots + 12 * targets) / count;
  auto examples = static_cast<double>(choice.batch_size);
  if (batch.one_pass) {
    if (sample.size() < kSample) examples = std::min(examples, count);
    if (auto all = task.count(split)) examples = std::min(examples, static_cast<double>(*all));
  }
  auto bytes = static_cast<uint64_t>(example * examples);
  // Below that, what a step needs decides.
  constexpr uint64_t kLeast = uint64_t{64} << 20;
  uint64_t memory = std::max(choice.memory, kLeast);
  std::string allowed = fmt::format("{} are allowed{}", readable_bytes(memory),
                                    choice.memory < kLeast ? ", however small --memory is" : "");
  if (bytes > memory) {
    throw usage_error(
        "--{}={}: the examples of such batches alone need {} of memory, and {}: a "
        "smaller batch or a larger --memory is expected",
        batch.flag, choice.batch_size, readable_bytes(bytes), allowed);
  }
  if (batch.shuffle_buffer <= 1) return 0;
  // Of a table only the numbers of its rows are shuffled.
  double waiting = task.count(split) ? sizeof(uint64_t) : as_read;
  auto most = static_cast<uint64_t>(static_cast<double>(memory - bytes) / waiting);
  uint64_t held = shuffled(task, split, static_cast<uint64_t>(batch.shuffle_buffer), most);
  auto held_bytes = static_cast<uint64_t>(static_cast<double>(held) * waiting);
  if (held > most) {
    throw usage_error(
        "--shuffle_buffer={}: {} examples and more that wait to be shuffled need more than {} of "
        "memory beside the batches, and for both {}: a smaller buffer or a larger --memory is "
        "expected",
        batch.shuffle_buffer, held, readable_bytes(held_bytes), allowed);
  }
  return held_bytes > kLeast ? held_bytes : 0;
}

Json to_json(const std::vector<Capacity>& capacities) {
  Json json = Json::array();
  for (const Capacity& c : capacities) json.push_back({c.rows, c.slots, c.examples, c.targets});
  return json;
}

std::vector<Capacity> capacities_from_json(const JsonValue& json, int64_t longest) {
  constexpr int64_t kMost = INT32_MAX;  // what indices on the device can say
  std::vector<Capacity> capacities;
  for (const JsonValue& one : json.items()) {
    std::vector<JsonValue> sizes = one.items();
    if (sizes.size() != 4) one.fail("[rows, slots, examples, targets]");
    Capacity c{sizes[0].integer(1, kMost), sizes[1].integer(1, kMost), sizes[2].integer(1, kMost),
               sizes[3].integer(0, kMost)};
    if (slots_of(c) > kMost) one.fail(fmt::format("at most {} slots in all rows", kMost));
    if (!capacities.empty() && slots_of(c) < slots_of(capacities.back())) {
      one.fail("a capacity not below the one before it");
    }
    capacities.push_back(c);
  }
  if (capacities.empty() || capacities.back().slots < longest) {
    json.fail(fmt::format("capacities of which the last holds an example of {} slots", longest));
  }
  return capacities;
}

}  // namespace bertrain
