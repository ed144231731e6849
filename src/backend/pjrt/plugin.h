// A PJRT plugin: a shared library that compiles for a device and runs on it, opened by its path.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backend/pjrt/abi.h"

namespace bertrain {

// Opened once for each file of the process and never closed: plugins keep threads of their own.
class PjrtPlugin {
 public:
  // Throws a usage Error where `path` is no plugin, or one of another major version of the
  // interface; an Error where it needs a library that is not there or fails to initialise.
  static std::shared_ptr<const PjrtPlugin> open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string api_version() const;  // "0.115"

  // The function at a place of the table; null where the plugin has none.
  void* function(const AbiFunction& which) const {
    if (which.offset + sizeof(void*) > table_->head.struct_size) return nullptr;
    return *reinterpret_cast<void* const*>(reinterpret_cast<const char*>(table_) + which.offset);
  }

 private:
  PjrtPlugin(const std::string& path, const std::string& file);
  std::string path_;
  const AbiTable* table_ = nullptr;
};

// libtpu looks at the machine that it runs on before it looks at what it is asked. Told of one host
// with a v5e, as some kind must be named, it asks no metadata server (for minutes where there is
// none), warns of nothing, writes no logs and lets another process compile at the same time. What
// the user set stays. For topologies, and for libtpu on machines without a TPU.
void keep_libtpu_from_looking_around();

// Whether a folder as /dev has files that a TPU may be behind: accel0, …, or a group of devices that
// is passed through, vfio/0, …. The folder vfio alone says nothing: Linux makes it wherever its
// module is loaded.
bool has_tpu_files(const std::string& devices);

}  // namespace bertrain
