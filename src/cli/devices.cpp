// The table of devices.
#include "cli/devices.h"

#include <algorithm>

#include "backend/cpu/kernels/gemm.h"
#include "backend/cpu/kernels/instruction_set.h"
#include "backend/pjrt/find_plugin.h"
#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "cli/hardware.h"
#include "cli/options.h"
#include "cli/training_options.h"
#include "storage/disk_space.h"
#include "train/signals.h"

namespace bertrain {

std::optional<std::string> plugin_of(const std::string& device) {
  if (device == "gpu" || device == "tpu") return require_plugin(device);
  constexpr std::string_view kPrefix = "plugin:";
  if (!device.starts_with(kPrefix)) return std::nullopt;
  std::string path = device.substr(kPrefix.size());
  if (path.empty()) throw usage_error("--device={}: plugin:PATH expected", device);
  bool is_kind = path == "cpu" || path == "gpu" || path == "tpu";
  return is_kind ? require_plugin(path) : path;
}

std::unique_ptr<Backend> open_backend(const std::string& device, const BackendOptions& options,
                                      int64_t replicas, std::optional<int64_t> least_turns) {
  auto alone = [&](std::unique_ptr<Backend> backend) {
    if (replicas > 1) {
      throw usage_error("--replicas={}: --device={} is one device; plugins have several", replicas,
                        device);
    }
    return backend;
  };
  if (device == "cpu") return alone(make_cpu_backend(options));
  if (device == "reference") return alone(make_reference_backend());
  if (std::optional<std::string> plugin = plugin_of(device)) {
    PluginTarget target;
    target.path = *plugin;
    if (device == "gpu" || device == "tpu") target.kind = device;
    target.devices = static_cast<int>(replicas);
    target.least_turns = least_turns;
    return make_plugin_backend(target, options);
  }
  if (is_hardware(device)) {
    hardware_named(device);
    throw usage_error(
        "--device={} names hardware to plan for; --device={} runs on what this machine has", device,
        device.substr(0, device.find(':')));
  }
  std::string near = nearest(device, {"cpu", "reference", "gpu", "tpu", "plugin:"});
  throw usage_error("--device={}: cpu, gpu, tpu, plugin:PATH or reference expected{}", device,
                    near.empty() ? "" : " (did you mean " + near + "?)");
}

std::string device_text(const std::string& device, const Backend& backend, int threads) {
  std::string devices = backend.description();
  if (!devices.empty()) return fmt::format("{}: {}", device, devices);
  return device == "cpu" ? fmt::format("{} with {} threads", device, threads) : device;
}

std::string instruction_set_of(const std::string& device) {
  return device == "cpu" ? instruction_set() : "";
}

void choose_instruction_set(const std::string& device, const std::string& name) {
  if (device == "cpu" && name != instruction_set()) use_instruction_set(name);
}

std::string usable_dtype(const std::string& device, const std::string& asked) {
  if (device != "cpu" || asked != "bf16" || has_bf16_dot()) return asked;
  log_line("this CPU has no bf16 dot product, so --dtype=bf16 would only be slower: fp32 is used");
  return "fp32";
}

ProgramMemory program_memory(const Backend& backend, const std::string& asked, uint64_t own) {
  if (own == 0) own = backend.device_memory();
  if (own == 0) return {parse_memory(asked) / static_cast<uint64_t>(backend.replicas()), false};
  return {std::min(parse_memory(asked.empty() ? "90%" : asked, own), own), true};
}

void require_memory(const BertConfig& config, bool training, const ProgramMemory& memory) {
  uint64_t count = parameter_count(config);
  // Single precision; in training a gradient and the two means of Adam for each parameter.
  uint64_t bytes = count * sizeof(float) * (training ? 4 : 1);
  if (bytes <= memory.bytes) return;
  throw error(
      "the model has {} parameters in {} layers, which take {} of {}{}, {} are allowed: take a "
      "smaller model, or raise --memory where the {} has more",
      count, config.num_hidden_layers, readable_bytes(bytes),
      memory.of_device ? "the device's memory" : "memory",
      training ? " with their gradients and Adam's means" : "", readable_bytes(memory.bytes),
      memory.of_device ? "device" : "machine");
}

Machine open_machine(const std::string& device, const std::string& memory, int64_t replicas,
                     const BertConfig& config, bool training) {
  Machine machine;
  machine.backend = open_backend(
      device, {loop_threads(), parse_memory(memory), nullptr, leave_if_stopped}, replicas);
  machine.memory = program_memory(*machine.backend, memory);
  require_memory(config, training, machine.memory);
  return machine;
}

}  // namespace bertrain
