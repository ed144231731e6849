// A PJRT client: the devices of this process that a plugin drives, what is put on them and what is
// compiled for them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/pjrt/buffer.h"
#include "backend/pjrt/executable.h"
#include "backend/pjrt/plugin.h"

namespace bertrain {

struct PjrtOptions {
  std::string path;  // of the plugin
  int devices = 0;   // to use; 0: one of a CPU plugin (which makes as many as it is told), else all
};

// Buffers and executables keep their client alive. Safe from several threads.
class PjrtClient : public std::enable_shared_from_this<PjrtClient> {
 public:
  // A usage Error where the path is no plugin (see PjrtPlugin::open) or has fewer devices than are
  // asked for; an Error with the plugin's reason where it finds no device.
  static std::shared_ptr<PjrtClient> open(const PjrtOptions& options);
  ~PjrtClient();
  PjrtClient(const PjrtClient&) = delete;
  PjrtClient& operator=(const PjrtClient&) = delete;

  std::string platform() const;     // "cpu", "tpu", "cuda"
  std::string description() const;  // "4 x TPU v4, platform tpu, version …, PJRT API 0.117"
  std::string device_kind() const;  // of device 0: "TPU v4", "NVIDIA H100 80GB HBM3"
  int devices() const { return static_cast<int>(devices_.size()); }
  uint64_t device_memory() const;  // bytes that device 0 lets a program have; 0: it does not say
  const PjrtPlugin& plugin() const { return *plugin_; }

  // The text of a StableHLO module. Its errors carry the compiler's line and column of the text.
  std::unique_ptr<PjrtExecutable> compile(std::string_view stablehlo, const CompileFlags& flags);

  // A copy of `value` on a device. Returns at once where the plugin copies in the background; the
  // bytes are kept until it has them.
  std::unique_ptr<PjrtBuffer> put(const Array& value, int device);

 private:
  explicit PjrtClient(std::shared_ptr<const PjrtPlugin> plugin) : plugin_(std::move(plugin)) {}
  void create(const PjrtOptions& options);
  void find_devices(const PjrtOptions& options);
  AbiDeviceDescription* description_of(AbiDevice* device) const;
  std::shared_ptr<const PjrtPlugin> plugin_;
  AbiClient* client_ = nullptr;
  std::vector<AbiDevice*> devices_;
  std::vector<int64_t> ids_;  // of the devices, as the plugin numbers them
};

}  // namespace bertrain
