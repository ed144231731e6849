// One owner at a time; the dead are taken over, wherever they were.
#include "train/run_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"

namespace bertrain {
namespace {

using testing::HasSubstr;

std::string fresh_directory(const std::string& name) {
  std::string path = testing::TempDir() + "/run_lock_" + name + std::to_string(getpid());
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

std::string refusal(const std::string& directory) {
  try {
    RunLock lock(directory);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(RunLock, SecondIsRefusedWithHostAndPid) {
  std::string directory = fresh_directory("second");
  {
    RunLock lock(directory);
    EXPECT_THAT(refusal(directory),
                HasSubstr(fmt::format("process {} on host {}", getpid(), host_name())));
  }
  EXPECT_FALSE(std::filesystem::exists(directory + "/lock"));
  EXPECT_EQ(refusal(directory), "");
}

TEST(RunLock, DeadOwnerIsTakenOver) {
  std::string directory = fresh_directory("dead");
  pid_t child = fork();
  if (child == 0) {
    RunLock lock(directory);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(std::filesystem::exists(directory + "/lock"));
  EXPECT_EQ(refusal(directory), "");
}

TEST(RunLock, OnlyKnownFileSystemsCount) {
  EXPECT_TRUE(flock_is_known_to_all(0xEF53)) << "ext4";
  EXPECT_TRUE(flock_is_known_to_all(0x6969)) << "NFS";
  for (int64_t other : {0x65735546, 0x01021997, 0x19830326, 0x0BD00BD0, 0x517B, 0}) {
    EXPECT_FALSE(flock_is_known_to_all(other)) << other;
  }
}

TEST(RunLock, DeadOwnerOfAnotherHostNameIsTakenOver) {
  std::string directory = fresh_directory("far");
  std::ofstream(directory + "/lock") << R"({"host":"elsewhere","pid":17})";
  std::string said;
  LogSink sink([&](std::string_view line) { said += line; });
  struct statfs facts = {};
  ASSERT_EQ(statfs(directory.c_str(), &facts), 0);
  if (!flock_is_known_to_all(static_cast<int64_t>(facts.f_type))) {
    EXPECT_THAT(refusal(directory), HasSubstr("may be in use by process 17 on host elsewhere"));
    return;
  }
  EXPECT_EQ(refusal(directory), "");
  EXPECT_THAT(said, HasSubstr("the lock of process 17 on host elsewhere"));
}

TEST(RunLock, LivingOwnerOfAnotherHostNameIsRefused) {
  std::string directory = fresh_directory("alive");
  RunLock lock(directory);
  std::ofstream(directory + "/lock") << R"({"host":"elsewhere","pid":17})";
  EXPECT_THAT(refusal(directory), HasSubstr("in use by process 17 on host elsewhere"));
}

TEST(RunLock, DamagedFileIsTakenOver) {
  for (const char* text : {"", "{\"host\":\"els", "[1]", "{\"host\":3,\"pid\":\"x\"}"}) {
    std::string directory = fresh_directory("damaged");
    std::ofstream(directory + "/lock") << text;
    EXPECT_EQ(refusal(directory), "") << text;
  }
}

}  // namespace
}  // namespace bertrain
