// Which backend a --device names.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backend/backend.h"
#include "model/config.h"

namespace bertrain {

// "cpu", "reference", "gpu" and "tpu" (by the plugin that is found, see backend/pjrt/find_plugin.h),
// "plugin:PATH" or "plugin:cpu" (the one that is found). replicas: devices to use, 0: all that a
// plugin has (one, where it is for the CPU); least_turns as in PluginTarget. Throws a usage error for
// what is none of them, or not here.
std::unique_ptr<Backend> open_backend(const std::string& device, const BackendOptions& options,
                                      int64_t replicas = 0,
                                      std::optional<int64_t> least_turns = {});

// "cpu with 2 threads", "plugin:cpu: 4 x cpu, platform cpu, …": of threads a plugin decides itself.
std::string device_text(const std::string& device, const Backend& backend, int threads);

// The path of the plugin that a device's name stands for; none where it stands for no plugin. Throws a
// usage error where there is none to be found.
std::optional<std::string> plugin_of(const std::string& device);

// The instruction set that decides a device's bits; "" where none does.
std::string instruction_set_of(const std::string& device);
// From now on that one. Throws Error if this machine does not have it.
void choose_instruction_set(const std::string& device, const std::string& name);

// The dtype that is worth computing in: asked for, or fp32 where the device has no instructions for
// bf16, which is then said.
std::string usable_dtype(const std::string& device, const std::string& asked);

// What programs may take on one replica: --memory as `asked`. Of a device with memory of its own that
// is a share of it, or 90 %, as programs come and go and leave gaps; else it is of the machine's, which
// the replicas share.
struct ProgramMemory {
  uint64_t bytes = 0;
  bool of_device = false;
};
// own: of hardware that is not here; 0: as the backend says.
ProgramMemory program_memory(const Backend& backend, const std::string& asked, uint64_t own = 0);

// Refuses a model whose parameters alone (training: with gradients and the optimizer's slots) are
// beyond `memory`, before anything is built of it. Throws Error with both sizes.
void require_memory(const BertConfig& config, bool training, const ProgramMemory& memory);

// Where a model runs: --device, --memory and --replicas as asked, with loop_threads() threads, refused as by
// require_memory. Its programs leave where a signal asked for it (leave_if_stopped).
struct Machine {
  std::unique_ptr<Backend> backend;
  ProgramMemory memory;
};
Machine open_machine(const std::string& device, const std::string& memory, int64_t replicas,
                     const BertConfig& config, bool training);

}  // namespace bertrain
