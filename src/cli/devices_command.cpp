// Tries every device there may be and says what it found.
#include "cli/devices_command.h"

#include <ostream>

#include "backend/cpu/kernels/gemm.h"
#include "backend/cpu/kernels/instruction_set.h"
#include "backend/pjrt/find_plugin.h"
#include "backend/pjrt/runtime.h"
#include "base/error.h"
#include "base/machine.h"
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

// Whether it can be used.
bool print_plugin(const std::string& name, const std::string& path, std::ostream& out) {
  try {
    auto client = PjrtClient::open({path, 0});
    out << name << ": " << client->description();
    if (uint64_t memory = client->device_memory()) {
      out << ", " << readable_bytes(memory) << " of memory each";
    }
    out << "\n  " << path << "\n";
    return true;
  } catch (const Error& e) {
    out << name << ": not usable: " << e.what() << "\n  " << path << "\n";
    return false;
  }
}

void print_kind(const std::string& kind, std::ostream& out) {
  std::string name = kind == "cpu" ? "plugin:cpu" : kind;
  if (std::optional<std::string> path = find_plugin(kind)) {
    print_plugin(name, *path, out);
  } else {
    out << name << ": no plugin; ./dev plugin " << kind << " fetches one\n";
  }
}

void run_devices(Args args, std::ostream& out) {
  DevicesOptions o;
  if (wants_help(args)) return print_help(kDevicesCommand, o.each(), out);
  parse_only_options(args, o.each());
  if (o.device == "cpu") return print_cpu(out);
  if (o.device == "gpu" || o.device == "tpu" || o.device == "plugin:cpu") {
    return print_kind(o.device == "plugin:cpu" ? "cpu" : o.device, out);
  }
  if (o.device.starts_with("plugin:")) {
    if (!print_plugin("plugin", o.device.substr(7), out)) {
      throw error("{} is not usable", o.device);
    }
    return;
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
