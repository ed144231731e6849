// The plugin of tests/pjrt under a name that says what it gets wrong.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace bertrain {

// A copy of the fake plugin, in a folder that goes with this.
class FakePlugin {
 public:
  explicit FakePlugin(const std::string& behaviour) {
    std::string folder =
        (std::filesystem::temp_directory_path() / "bertrain_plugin_XXXXXX").string();
    folder_ = mkdtemp(folder.data());
    path_ = (folder_ / (behaviour + ".so")).string();
    std::filesystem::copy_file(BERTRAIN_FAKE_PLUGIN, path_);
  }
  ~FakePlugin() { std::filesystem::remove_all(folder_); }
  FakePlugin(const FakePlugin&) = delete;

  const std::string& path() const { return path_; }

  // Of the plugin's objects, errors and events among them, those not given back; opened already.
  int64_t live_objects() const {
    void* library = dlopen(path_.c_str(), RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<int64_t (*)()>(dlsym(library, "fake_live_objects"))();
  }

 private:
  std::filesystem::path folder_;
  std::string path_;
};

}  // namespace bertrain
