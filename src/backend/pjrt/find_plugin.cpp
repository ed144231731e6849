// Looks where plugins are usually unpacked.
#include "backend/pjrt/find_plugin.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace bertrain {
namespace {

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

std::string variable_of(std::string_view kind) {
  std::string upper(kind);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return "BERTRAIN_" + upper + "_PLUGIN";
}

// The shared object inside each wheel.
std::vector<std::string> files_of(std::string_view kind) {
  if (kind == "cpu") {
    return {"lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
            "fastatomstruct_xla_cpu/libpjrt_cpu.so"};
  }
  if (kind == "gpu") return {"jax_plugins/xla_cuda13/xla_cuda_plugin.so"};
  if (kind == "tpu") return {"libtpu/libtpu.so"};
  check(false, "a plugin is for cpu, gpu or tpu");
  return {};
}

// lib/python3.*/site-packages of the virtual environment, newest name last.
std::vector<std::string> site_packages() {
  std::string environment = variable("VIRTUAL_ENV");
  std::vector<std::string> found;
  if (environment.empty()) return found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(environment + "/lib", failed)) {
    if (!entry.path().filename().string().starts_with("python")) continue;
    found.push_back((entry.path() / "site-packages").string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::string plugin_folder() {
  if (std::string folder = variable("BERTRAIN_PLUGINS"); !folder.empty()) return folder;
  std::string data = variable("XDG_DATA_HOME"), home = variable("HOME");
  if (data.empty() && home.empty()) return "";
  return (data.empty() ? home + "/.local/share" : data) + "/bertrain/plugins";
}

std::vector<std::string> plugin_places(std::string_view kind) {
  std::vector<std::string> places;
  if (std::string path = variable(variable_of(kind)); !path.empty()) places.push_back(path);
  std::vector<std::string> folders = site_packages();
  if (std::string ours = plugin_folder(); !ours.empty()) {
    folders.insert(folders.begin(), ours + "/" + std::string(kind));
  }
  for (const std::string& folder : folders) {
    for (const std::string& file : files_of(kind)) places.push_back(folder + "/" + file);
  }
  return places;
}

std::optional<std::string> find_plugin(std::string_view kind) {
  std::string named = variable(variable_of(kind));
  for (std::string& place : plugin_places(kind)) {
    std::error_code failed;
    if (std::filesystem::is_regular_file(place, failed)) return std::move(place);
    if (place == named) {
      throw usage_error("${} names {}, which is no file; unset it, or name a plugin",
                        variable_of(kind), named);
    }
  }
  return std::nullopt;
}

std::string require_plugin(std::string_view kind) {
  if (std::optional<std::string> path = find_plugin(kind)) return *path;
  std::string list;
  for (const std::string& place : plugin_places(kind)) list += "\n  " + place;
  throw usage_error(
      "there is no PJRT plugin for {}: ./dev plugin {} fetches one, --device=plugin:PATH names one "
      "that is elsewhere. Looked for:{}",
      kind, kind, list);
}

}  // namespace bertrain
