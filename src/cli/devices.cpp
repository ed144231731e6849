// The table of devices.
#include "cli/devices.h"

#include "backend/cpu/kernels/gemm.h"
#include "backend/cpu/kernels/instruction_set.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/options.h"
#include "storage/disk_space.h"

namespace bertrain {

std::unique_ptr<Backend> open_backend(const std::string& device, const BackendOptions& options) {
  if (device == "cpu") return make_cpu_backend(options);
  if (device == "reference") return make_reference_backend();
  std::string kind = device.substr(0, device.find(':'));
  if (kind == "gpu" || kind == "tpu" || kind == "plugin") {
    throw usage_error("--device={}: this build has no backend for {} yet; --device=cpu runs here",
                      device, kind == "plugin" ? "plugins" : kind);
  }
  std::string near = nearest(device, {"cpu", "reference", "gpu", "tpu"});
  throw usage_error("--device={}: cpu or reference expected{}", device,
                    near.empty() ? "" : " (did you mean " + near + "?)");
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

void require_memory(const BertConfig& config, bool training, uint64_t memory) {
  uint64_t count = parameter_count(config);
  // Single precision; in training a gradient and the two means of Adam for each parameter.
  uint64_t bytes = count * sizeof(float) * (training ? 4 : 1);
  if (bytes <= memory) return;
  throw error(
      "the model has {} parameters in {} layers, which take {} of memory{}, {} are allowed: take a "
      "smaller model, or raise --memory where the machine has more",
      count, config.num_hidden_layers, readable_bytes(bytes),
      training ? " with their gradients and Adam's means" : "", readable_bytes(memory));
}

}  // namespace bertrain
