// One owner at a time; the dead are taken over, the far are not.
#include "train/run_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/error.h"

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
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  {
    RunLock lock(directory);
    EXPECT_THAT(refusal(directory),
                HasSubstr(fmt::format("process {} on host {}", getpid(), host)));
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

TEST(RunLock, OtherHostIsRefused) {
  std::string directory = fresh_directory("far");
  std::ofstream(directory + "/lock") << R"({"host":"elsewhere","pid":17})";
  EXPECT_THAT(refusal(directory), HasSubstr("process 17 on host elsewhere"));
  EXPECT_THAT(refusal(directory), HasSubstr("remove " + directory + "/lock"));
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
