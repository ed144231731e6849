// The table of accelerators. Memory is what the TPU compiler grants a program, measured with libtpu
// 0.0.52, and of the H100 what XLA's client for CUDA takes unless it is told else: 75 % of the 79 GiB
// that the driver has.
#include "cli/hardware.h"

#include "backend/pjrt/find_plugin.h"
#include "base/error.h"
#include "cli/options.h"

namespace bertrain {
namespace {

// Rounded down, as a compiler's message has two digits of it.
constexpr uint64_t gib(double number) { return static_cast<uint64_t>(number * 1024) << 20; }

// Names of a cloud's slices count cores up to v4 (two a chip, each a device) and v5p (two a chip, one
// device), else chips.
const std::vector<Hardware> kHardware = {
    {"tpu:v2-8", "v2:2x2", 8, gib(7.48), "TPU v2: 4 chips, 8 cores"},
    {"tpu:v2-32", "v2:4x4", 32, gib(7.48), "TPU v2: 16 chips, 32 cores"},
    {"tpu:v3-8", "v3:2x2", 8, gib(15.48), "TPU v3: 4 chips, 8 cores"},
    {"tpu:v4-8", "v4:2x2x1", 8, gib(15.25), "TPU v4: 4 chips, 8 cores"},
    {"tpu:v5e-4", "v5e:2x2", 4, gib(15.75), "TPU v5e: 4 chips"},
    {"tpu:v5p-8", "v5p:2x2x1", 4, gib(95.73), "TPU v5p: 4 chips, 8 cores"},
    {"tpu:v6e-4", "v6e:2x2", 4, gib(31.24), "TPU v6e: 4 chips"},
    {"gpu:h100", "", 1, gib(59), "NVIDIA H100 SXM, 80 GB"},
    {"gpu:h100-8", "", 8, gib(59), "8 x NVIDIA H100 SXM, 80 GB"},
};

// What XLA's compiler asks about a GPU, in its own text form; the figures are those of the chip.
constexpr const char* kH100 = R"(gpu_device_info {
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: 233472
  threads_per_core_limit: 2048
  core_count: 132
  fpus_per_core: 128
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000
  l2_cache_size: 52428800
  clock_rate_ghz: 1.98
  device_memory_size: 84978434048
  shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 }
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 5 }
device_description_str: "NVIDIA H100 80GB HBM3"
)";

}  // namespace

const std::vector<Hardware>& all_hardware() { return kHardware; }

bool is_hardware(std::string_view device) {
  return device.starts_with("tpu:") || device.starts_with("gpu:");
}

const Hardware& hardware_named(std::string_view device) {
  std::vector<std::string> names;
  std::string list;
  for (const Hardware& hardware : kHardware) {
    if (hardware.name == device) return hardware;
    names.emplace_back(hardware.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  std::string near = nearest(device, names);
  throw usage_error("--device={}: no such hardware is known{}; there are {}", device,
                    near.empty() ? "" : " (did you mean " + near + "?)", list);
}

PluginTarget target_of(const Hardware& hardware) {
  PluginTarget target;
  target.topology = std::string(hardware.topology);
  target.devices = hardware.replicas;
  if (hardware.name.starts_with("tpu:")) {
    target.path = require_plugin("tpu");
  } else {
    target.path = require_plugin("gpu");
    target.topology_options = {{"target_config", kH100},
                               {"topology", fmt::format("1x1x{}", hardware.replicas)}};
  }
  return target;
}

}  // namespace bertrain
