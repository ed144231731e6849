// What a run goes on from when somebody was in its checkpoints: the newest state, and the best if it
// is there.
#include "train/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backend/host_arrays.h"
#include "base/log.h"

namespace bertrain {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<Parameter> one_parameter() {
  return {{"output_weights", {2, 3}, {Init::truncated_normal, 0.02}, {}}};
}

class ResumeTest : public testing::Test {
 protected:
  ResumeTest() {
    fs::remove_all(folder);
    state.initialise(1);
    fill(2);
    RunCheckpoints first = checkpoints();
    first.judge(2, {{"accuracy", 0.9}});
    first.save(2);
    fill(4);
    first.judge(4, {{"accuracy", 0.5}});
    first.save(4);
    EXPECT_EQ(first.best_step(), 2);
  }

  void fill(float value) {
    state.set("output_weights", make_array<float>({2, 3}, std::vector<float>(6, value)));
  }
  float value() const { return state.get("output_weights").as<float>()[0]; }
  RunCheckpoints checkpoints() { return {folder, state, 1, {"accuracy", true}}; }

  HostBackend backend;
  State state{backend, one_parameter()};
  std::string folder = testing::TempDir() + "/resume_test" + std::to_string(getpid());
  std::string said;
  LogSink sink{[this](std::string_view line) { said += line; }};
};

TEST_F(ResumeTest, BestStateIsLoaded) {
  RunCheckpoints again = checkpoints();
  ASSERT_TRUE(again.restore());
  EXPECT_EQ(again.step(), 4);
  EXPECT_EQ(value(), 4);
  EXPECT_EQ(again.load_best(), 2);
  EXPECT_EQ(value(), 2);
  EXPECT_EQ(said, "");
}

TEST_F(ResumeTest, BestStateThatIsGoneOrDamagedLeavesTheNewest) {
  for (bool damaged : {true, false}) {
    std::string best = folder + "/step-2";
    said.clear();
    if (damaged) {
      std::ofstream(best + "/state.safetensors", std::ios::app) << "more";
    } else {
      fs::remove_all(best);
    }
    RunCheckpoints again = checkpoints();
    ASSERT_TRUE(again.restore());
    EXPECT_THAT(said, HasSubstr("the state of the best step, 2, cannot be used"));
    EXPECT_EQ(fs::exists(best), damaged) << "it is not removed, as it may be read another time";
    // Its own scores are known, so a worse evaluation does not replace it.
    EXPECT_EQ(again.best_step(), 4);
    EXPECT_EQ(again.best_scores(), Json({{"accuracy", 0.5}}));
    again.judge(6, {{"accuracy", 0.4}});
    EXPECT_EQ(again.load_best(), 4);
    EXPECT_EQ(value(), 4);
  }
}

TEST_F(ResumeTest, BestStateThatIsGoneWhereNothingIsScored) {
  fs::remove_all(folder + "/step-2");
  RunCheckpoints again(folder, state, 1, {});
  ASSERT_TRUE(again.restore());
  EXPECT_THAT(said, HasSubstr("the state of the best step, 2, cannot be used"));
  EXPECT_EQ(again.load_best(), 4);
}

TEST_F(ResumeTest, BestStateStaysThoughItsMarkIsGoneOrDamaged) {
  std::string mark = folder + "/best.json";
  for (const char* text : {"gone", "", "{}", "{\"step\":7}"}) {
    std::string whole = R"({"step":2})";
    said.clear();
    fs::remove(mark);
    if (std::string(text) != "gone") std::ofstream(mark) << text;
    {
      RunCheckpoints again = checkpoints();
      ASSERT_TRUE(again.restore()) << text;
      EXPECT_EQ(again.best_step(), 2) << text;
      EXPECT_TRUE(fs::exists(folder + "/step-2/complete.json")) << text;
      std::ifstream in(mark);
      std::string now;
      std::getline(in, now);
      EXPECT_EQ(now, whole) << text;
    }
    bool damaged = std::string(text).size() < 3;
    EXPECT_EQ(said.find("best.json") != std::string::npos, damaged) << text << ": " << said;
  }
  // Nor is it lost when that happens while the run works.
  RunCheckpoints again = checkpoints();
  ASSERT_TRUE(again.restore());
  fs::remove(mark);
  again.save(6);
  EXPECT_EQ(again.load_best(), 2);
  EXPECT_EQ(value(), 2);
}

TEST_F(ResumeTest, BestStateThatGoesWhileTheRunWorksLeavesTheNewest) {
  RunCheckpoints again = checkpoints();
  ASSERT_TRUE(again.restore());
  fs::remove_all(folder + "/step-2");
  EXPECT_EQ(again.load_best(), 4);
  EXPECT_THAT(said, HasSubstr("it is gone"));
  EXPECT_EQ(again.best_scores(), Json({{"accuracy", 0.5}}));
}

}  // namespace
}  // namespace bertrain
