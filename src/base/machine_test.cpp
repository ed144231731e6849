// Limits of both cgroup versions, own and inherited.
#include "base/machine.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <vector>

#include <filesystem>
#include <fstream>

namespace bertrain {
namespace {

class Machine : public testing::Test {
 protected:
  Machine() : root_(testing::TempDir() + "/machine" + std::to_string(getpid())) {
    std::filesystem::remove_all(root_);
  }
  ~Machine() override { std::filesystem::remove_all(root_); }
  void file(const std::string& path, const std::string& text) {
    std::filesystem::path whole = root_ + "/" + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  std::string root_;
};

TEST_F(Machine, Version2TakesTheSmallestOfAllLevels) {
  file("proc/self/cgroup", "0::/a/b\n");
  file("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  file("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  file("sys/fs/cgroup/a/b/memory.max", "4096\n");
  file("sys/fs/cgroup/a/memory.max", "8192\n");
  EXPECT_EQ(cgroup_cpu_limit(root_), 2);
  EXPECT_EQ(cgroup_memory_limit(root_), 4096u);
}

TEST_F(Machine, ContainerThatSeesOnlyItsRoot) {
  file("proc/self/cgroup", "0::/docker/0123\n");
  file("sys/fs/cgroup/cpu.max", "50000 100000\n");
  file("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(cgroup_cpu_limit(root_), 1);
  EXPECT_EQ(cgroup_memory_limit(root_), 0u);
}

TEST_F(Machine, Version1) {
  file("proc/self/cgroup", "3:cpu,cpuacct:/x\n2:memory:/x\n0::/y\n");
  file("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "400000\n");
  file("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  file("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1000000\n");
  EXPECT_EQ(cgroup_cpu_limit(root_), 4);
  EXPECT_EQ(cgroup_memory_limit(root_), 1000000u);
}

TEST_F(Machine, NoCgroups) {
  EXPECT_EQ(cgroup_cpu_limit(root_), 0);
  EXPECT_EQ(cgroup_memory_limit(root_), 0u);
  EXPECT_GE(usable_threads(), 1);
  EXPECT_GT(usable_memory(), uint64_t{1} << 20);
}

TEST(PeakMemory, GrowsWithWhatIsHeld) {
  uint64_t before = peak_memory();
  std::vector<char> held(64 << 20, 1);
  EXPECT_GE(peak_memory(), before + (32 << 20)) << held.back();
}

TEST(Threads, NoneAskedForTakesWhatTheMachineAllows) {
  unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(use_threads(0), usable_threads());
  EXPECT_EQ(loop_threads(), usable_threads());
  EXPECT_EQ(use_threads(3), 3);
  EXPECT_EQ(loop_threads(), 3);
  setenv("OMP_NUM_THREADS", "1,2", 1);
  EXPECT_EQ(use_threads(0), 1);
  EXPECT_EQ(use_threads(3), 3) << "what is asked for is taken";
  unsetenv("OMP_NUM_THREADS");
  use_threads(0);
}

}  // namespace
}  // namespace bertrain
