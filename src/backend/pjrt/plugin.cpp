// Opens a plugin's file, asks it for its table and checks what it says of itself.
#include "backend/pjrt/plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

#include "backend/pjrt/call.h"
#include "backend/pjrt/shared_object.h"
#include "base/error.h"
#include "base/quote.h"

namespace bertrain {
namespace {

constexpr int32_t kMajor = 0;  // with another one no struct needs to lie as we know it

bool is_numbered(std::string_view name, std::string_view before) {
  if (!name.starts_with(before) || name.size() == before.size()) return false;
  name.remove_prefix(before.size());
  return name.find_first_not_of("0123456789") == name.npos;
}

bool has_numbered(const std::string& folder, std::string_view before) {
  std::error_code failed;
  std::filesystem::directory_iterator entry(folder, failed), end;
  for (; !failed && entry != end; entry.increment(failed)) {
    if (is_numbered(entry->path().filename().string(), before)) return true;
  }
  return false;
}

// Plugins log to standard error, for their authors; what fails in a call is an Error here as well.
// Who wants their lines sets TF_CPP_MIN_LOG_LEVEL: what the user set stays.
void set_environment(const std::string& file) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
  if (has_tpu_files("/dev")) return;
  setenv("TPU_SKIP_MDS_QUERY", "1", 0);
  bool is_libtpu = std::filesystem::path(file).filename().string().starts_with("libtpu");
  if (is_libtpu) keep_libtpu_from_looking_around();
}

const AbiTable* table_of(const std::string& path, const std::string& file) {
  require_shared_object(path);
  set_environment(file);
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    throw error("{} cannot be loaded: {}", quote(path),
                readable_reason(reason == nullptr ? "" : reason));
  }
  void* entry = dlsym(library, "GetPjrtApi");
  if (entry == nullptr) {
    throw usage_error("{} is no PJRT plugin: it exports no GetPjrtApi", quote(path));
  }
  const auto* table = reinterpret_cast<const AbiTable* (*)()>(entry)();
  if (table == nullptr || table->head.struct_size < sizeof(AbiTable)) {
    throw usage_error("{} is no PJRT plugin: its GetPjrtApi gives no table", quote(path));
  }
  if (table->major_version != kMajor) {
    throw usage_error(
        "the plugin {} has version {}.{} of the PJRT API, and this program speaks {}.x: a plugin "
        "of that version or a newer program is expected",
        quote(path), table->major_version, table->minor_version, kMajor);
  }
  return table;
}

}  // namespace

void keep_libtpu_from_looking_around() {
  setenv("TPU_SKIP_MDS_QUERY", "1", 0);
  setenv("TPU_WORKER_HOSTNAMES", "localhost", 0);
  setenv("TPU_WORKER_ID", "0", 0);
  setenv("TPU_ACCELERATOR_TYPE", "v5litepod-4", 0);
  setenv("TPU_LOG_DIR", "disabled", 0);
  setenv("ALLOW_MULTIPLE_LIBTPU_LOAD", "1", 0);
}

bool has_tpu_files(const std::string& devices) {
  return has_numbered(devices, "accel") || has_numbered(devices + "/vfio", "");
}

PjrtPlugin::PjrtPlugin(const std::string& path, const std::string& file)
    : path_(path), table_(table_of(path, file)) {
  AbiPluginInitialize initialize{};
  if (function(AbiPluginInitialize::kFunction) != nullptr) call(*this, initialize);
}

std::shared_ptr<const PjrtPlugin> PjrtPlugin::open(const std::string& path) {
  static std::mutex mutex;
  // Never destroyed: a plugin's threads may call back until the process has ended.
  static auto& opened = *new std::map<std::string, std::shared_ptr<const PjrtPlugin>>;
  // A full path: a bare name would be looked for among the system's libraries.
  std::error_code failure;
  std::string file = std::filesystem::weakly_canonical(path, failure).string();
  if (failure) file = std::filesystem::absolute(path, failure).string();
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<const PjrtPlugin>& plugin = opened[file];
  if (plugin == nullptr) plugin.reset(new PjrtPlugin(path, file));
  return plugin;
}

std::string PjrtPlugin::api_version() const {
  return fmt::format("{}.{}", table_->major_version, table_->minor_version);
}

}  // namespace bertrain
