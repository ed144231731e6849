// Tries every device there may be and says what it found.
#include "cli/devices_command.h"

#include <ostream>

#include "backend/cpu/kernels/gemm.h"
#include "backend/cpu/kernels/instruction_set.h"
#include "backend/pjrt/client.h"
#include "backend/pjrt/find_plugin.h"
#include "base/error.h"
#include "base/machine.h"
#include "cli/devices.h"
#include "cli/hardware.h"
#include "cli/options.h"
#include "storage/disk_space.h"

namespace bertrain {
namespace {

struct DevicesOptions {
  std::string device;

  EachOption each() {
    return [this](OptionVisitor& v) {
      v("device", device, "only this one: cpu, gpu, tpu or plugin:PATH");
    };
  }
};

void print_cpu(std::ostream& out) {
  out << "cpu: " << usable_threads() << " threads, " << instruction_set()
      << (has_bf16_dot() ? " with" : " without") << " bf16 products, "
      << readable_bytes(usable_memory()) << " of memory\n";
}

// Throws Error where it cannot be used.
void print_plugin(const std::string& name, const std::string& path, std::ostream& out) {
  auto client = PjrtClient::open({path, 0});
  out << name << ": " << client->description();
  if (uint64_t memory = client->device_memory()) {
    out << ", " << readable_bytes(memory) << " of memory each";
  }
  out << "\n  " << path << "\n";
}

// One of several: what cannot be used is said, and no failure.
void print_kind(const std::string& kind, std::ostream& out) {
  std::string name = kind == "cpu" ? "plugin:cpu" : kind;
  std::optional<std::string> path;
  try {
    path = find_plugin(kind);
    if (path) return print_plugin(name, *path, out);
    out << name << ": no plugin; ./dev plugin " << kind << " fetches one\n";
  } catch (const Error& e) {
    out << name << ": not usable: " << e.what() << "\n";
    if (path) out << "  " << *path << "\n";
  }
}

void run_devices(Args args, std::ostream& out) {
  DevicesOptions o;
  if (wants_help(args)) return print_help(kDevicesCommand, o.each(), out);
  parse_only_options(args, o.each());
  if (o.device == "cpu") return print_cpu(out);
  if (std::optional<std::string> path = plugin_of(o.device)) {
    return print_plugin(o.device, *path, out);
  }
  if (is_hardware(o.device)) {
    hardware_named(o.device);
    throw usage_error(
        "--device={0} names hardware to plan for, not a device of this machine: `bertrain plan "
        "--device={0}` says what a training would need there, and `bertrain devices` without "
        "--device what is here",
        o.device);
  }
  if (!o.device.empty()) {
    throw usage_error("--device={}: cpu, gpu, tpu or plugin:PATH expected", o.device);
  }
  print_cpu(out);
  for (const char* kind : {"cpu", "gpu", "tpu"}) print_kind(kind, out);
  out << "to plan for without having it (bertrain plan --device=NAME):";
  for (const Hardware& hardware : all_hardware()) out << " " << hardware.name;
  out << "\n";
}

}  // namespace

const Command kDevicesCommand = {"devices", "what there is to run on",
                                 "bertrain devices\nbertrain devices --device=plugin:/path/to.so",
                                 run_devices};

}  // namespace bertrain
