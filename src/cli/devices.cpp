// The table of devices.
#include "cli/devices.h"

#include "base/error.h"
#include "cli/options.h"

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

}  // namespace bertrain
