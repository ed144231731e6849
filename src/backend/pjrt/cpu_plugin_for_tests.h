// The CPU plugin that tests run on, where this machine has one.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "backend/pjrt/client.h"

namespace bertrain {

inline std::string cpu_plugin() {
  const char* path = std::getenv("BERTRAIN_CPU_PLUGIN");
  return path == nullptr ? "" : path;
}

// Tests that need the plugin are skipped without it.
class OnCpuPlugin : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cpu_plugin().empty()) {
      GTEST_SKIP() << "BERTRAIN_CPU_PLUGIN names no PJRT plugin for the CPU (./dev plugin cpu)";
    }
  }
  static std::shared_ptr<PjrtClient> open(int devices = 0) {
    return PjrtClient::open({cpu_plugin(), devices});
  }
};

}  // namespace bertrain
