// Where plugins are looked for, and in which order.
#include "backend/pjrt/find_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace bertrain {
namespace {

constexpr const char* kNames[] = {"BERTRAIN_PLUGINS", "XDG_DATA_HOME",       "HOME",
                                  "VIRTUAL_ENV",      "BERTRAIN_CPU_PLUGIN", "BERTRAIN_TPU_PLUGIN"};

class FindPlugin : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / fmt::format("find_plugin{}", getpid());
    std::filesystem::create_directories(folder_);
    for (const char* name : kNames) {
      const char* value = std::getenv(name);
      if (value != nullptr) before_.emplace_back(name, value);
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (const char* name : kNames) unsetenv(name);
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  std::string make(const std::string& file) {
    std::filesystem::path path = folder_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "x";
    return path.string();
  }
  std::filesystem::path folder_;
  std::vector<std::pair<std::string, std::string>> before_;
};

TEST_F(FindPlugin, TheFolderIsTheFirstThatIsNamed) {
  EXPECT_EQ(plugin_folder(), "");
  setenv("HOME", "/home/ada", 1);
  EXPECT_EQ(plugin_folder(), "/home/ada/.local/share/bertrain/plugins");
  setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(plugin_folder(), "/data/bertrain/plugins");
  setenv("BERTRAIN_PLUGINS", "/p", 1);
  EXPECT_EQ(plugin_folder(), "/p");
  unsetenv("HOME");
}

TEST_F(FindPlugin, APathThatIsNamedComesBeforeFoldersAndThoseBeforeEnvironments) {
  setenv("BERTRAIN_PLUGINS", (folder_ / "plugins").c_str(), 1);
  setenv("VIRTUAL_ENV", (folder_ / "venv").c_str(), 1);
  EXPECT_EQ(find_plugin("tpu"), std::nullopt);
  std::string installed = make("venv/lib/python3.11/site-packages/libtpu/libtpu.so");
  EXPECT_EQ(find_plugin("tpu"), installed);
  std::string fetched = make("plugins/tpu/libtpu/libtpu.so");
  EXPECT_EQ(find_plugin("tpu"), fetched);
  std::string named = make("mine.so");
  setenv("BERTRAIN_TPU_PLUGIN", named.c_str(), 1);
  EXPECT_EQ(find_plugin("tpu"), named);
}

TEST_F(FindPlugin, AVariableThatNamesNoFileIsNotPassedOver) {
  setenv("BERTRAIN_PLUGINS", folder_.c_str(), 1);
  make("cpu/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so");
  setenv("BERTRAIN_CPU_PLUGIN", "/nowhere.so", 1);
  try {
    find_plugin("cpu");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
    EXPECT_THAT(e.what(), ::testing::HasSubstr("$BERTRAIN_CPU_PLUGIN names /nowhere.so"));
  }
}

TEST_F(FindPlugin, WithoutOneTheErrorSaysWhereItLookedAndHowToGetIt) {
  setenv("BERTRAIN_PLUGINS", folder_.c_str(), 1);
  try {
    require_plugin("cpu");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
    EXPECT_THAT(e.what(), ::testing::HasSubstr("./dev plugin cpu"));
    EXPECT_THAT(e.what(), ::testing::HasSubstr(folder_.string() + "/cpu/"));
  }
}

}  // namespace
}  // namespace bertrain
