// Accelerators by the names that clouds give them, for compiling without them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace bertrain {

struct Hardware {
  std::string_view name;      // "tpu:v3-8", as --device takes it
  std::string_view topology;  // as the plugin names it
  int replicas = 1;           // devices that hold a replica each
  uint64_t memory = 0;        // bytes of one device that programs may have
  std::string_view what;      // "TPU v3: 4 chips, 8 cores"
};

const std::vector<Hardware>& all_hardware();

// Whether a device's name is meant as one of them ("tpu:…", "gpu:…").
bool is_hardware(std::string_view device);

// A usage error that lists the names where there is none like this.
const Hardware& hardware_named(std::string_view device);

// What to open to compile for it, by the plugin of its kind on this machine (else a usage error).
PluginTarget target_of(const Hardware& hardware);

}  // namespace bertrain
