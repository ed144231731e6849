// One owner at a time; the dead are taken over, wherever they were.
#include "train/run_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
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

TEST(RunLock, DeadOwnerOfAnotherHostNameIsTakenOver) {
  std::string directory = fresh_directory("far");
  std::ofstream(directory + "/lock") << R"({"host":"elsewhere","pid":17})";
  std::string said;
  LogSink sink([&](std::string_view line) { said += line; });
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
