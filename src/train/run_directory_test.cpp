// Starting, going on, refusing: what run.json and the resume modes decide.
#include "train/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/error_message.h"
#include "base/log.h"

namespace bertrain {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

std::string fresh_path(const std::string& name) {
  std::string path = testing::TempDir() + "/run_directory_" + name + std::to_string(getpid());
  fs::remove_all(path);
  return path;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

RunRequest request(double rate, const std::vector<std::string>& labels) {
  return {"finetune",
          {"--learning_rate=1"},
          {{"learning_rate", rate}, {"log_every", rate}},
          {{"labels", labels}},
          {{"train.tsv", "12 bytes"}},
          {"log_every"}};
}

TEST(RunDirectory, NewRunThenTheSameAgain) {
  std::string path = fresh_path("again");
  {
    RunDirectory run(path + "/", Resume::automatic, false);
    EXPECT_EQ(run.path(), path);
    EXPECT_FALSE(run.continues());
    run.start(request(1, {"a"}), {{"threads", 2}});
    log_line("step 1");
    run.note("two\nlines\n");
  }
  RunDirectory run(path, Resume::require, false);
  EXPECT_TRUE(run.continues());
  EXPECT_EQ(run.finished_step(), std::nullopt);
  run.compare(request(1, {"a"}));
  run.start(request(1, {"a"}));
  ASSERT_TRUE(run.chosen("threads"));
  EXPECT_EQ(run.chosen("threads")->json(), Json(2));
  EXPECT_FALSE(run.chosen("capacity"));
  EXPECT_EQ(run.record()["starts"].size(), 2u);
  EXPECT_THAT(text_of(path + "/log.txt"), HasSubstr("Z step 1\n"));
  EXPECT_THAT(text_of(path + "/log.txt"), HasSubstr("Z two\n"));
  EXPECT_THAT(text_of(path + "/log.txt"), HasSubstr("Z lines\n"));
  run.finish(7, {{"eval_accuracy", 0.5}});
  EXPECT_EQ(run.finished_step(), 7);
}

TEST(RunDirectory, NamesOfAnyBytesAreComparedAsTheyAreStored) {
  std::string path = fresh_path("bytes");
  RunRequest first = request(1, {"a"});
  first.arguments = {"--train_file=\xff.tsv"};
  first.settings["train_file"] = "\xc3\xa9\\\xff.tsv";
  first.data = {{"\xff.tsv", "12 bytes"}, {"\xfe.tsv", "13 bytes"}};
  { RunDirectory(path, Resume::automatic, false).start(first); }
  RunDirectory run(path, Resume::automatic, false);
  EXPECT_EQ(message_of([&] { run.compare(first); }), "no error");
  EXPECT_EQ(run.record()["arguments"], Json({"--train_file=\\xff.tsv"}));
  EXPECT_EQ(run.record()["settings"]["train_file"], "\xc3\xa9\\\\\\xff.tsv");
  EXPECT_EQ(run.record()["data"].size(), 2u);
  RunRequest other = first;
  // A name that looks like another one's writing is not taken for it.
  EXPECT_NE(in_utf8("\\xff.tsv"), in_utf8("\xff.tsv"));
  for (const char* text : {"\\xff.tsv", "\xff.tsv", "a\\b", "\xff\\b", "plain", "\xff", "\\"}) {
    EXPECT_EQ(out_of_utf8(in_utf8(text).get<std::string>()), text);
  }
  EXPECT_EQ(in_utf8("a\\b"), "a\\b");
  other.data = {{"\xff.tsv", "12 bytes"}, {"\xfd.tsv", "13 bytes"}};
  EXPECT_THAT(message_of([&] { run.compare(other); }),
              HasSubstr("data.\\xfd.tsv: nothing before, \"13 bytes\" now"));
}

TEST(RunDirectory, OtherSettingsAreRefusedWithTheDifference) {
  std::string path = fresh_path("other");
  { RunDirectory(path, Resume::automatic, false).start(request(1, {"a", "b"})); }
  std::string before = text_of(path + "/run.json");
  {
    RunDirectory run(path, Resume::automatic, false);
    std::string message = message_of([&] { run.compare(request(2, {"a", "b", "c"})); });
    EXPECT_THAT(message, HasSubstr("settings.learning_rate: 1.0 before, 2.0 now"));
    EXPECT_THAT(message, HasSubstr(R"(task.labels: ["a","b"] before, ["a","b","c"] now)"));
    EXPECT_THAT(message, Not(HasSubstr("log_every")));
    EXPECT_THAT(message, HasSubstr("--overwrite"));
    EXPECT_THAT(message, Not(HasSubstr("--resume=inexact")));
    EXPECT_THAT(message_of([&] {
                  run.compare(request(1, {"a", "c"}));
                }),
                HasSubstr("--resume=inexact"));
  }
  EXPECT_EQ(text_of(path + "/run.json"), before);
  RunDirectory run(path, Resume::inexact, false);
  // A layer for two labels is of no use for three.
  EXPECT_THAT(message_of([&] {
                run.compare(request(2, {"a", "b", "c"}));
              }),
              HasSubstr("its checkpoints do not fit that model"));
  run.compare(request(2, {"a", "c"}));
  run.start(request(2, {"a", "c"}));
  EXPECT_EQ(run.record()["settings"]["learning_rate"], Json(2.0));
}

TEST(RunDirectory, AnotherModelIsRefusedAndARecordWithoutOneIsNot) {
  std::string path = fresh_path("model");
  RunRequest first = request(1, {"a"}), second = first;
  first.model = {{"config", {{"hidden_act", "gelu"}}}, {"vocabulary", {{"lines", 3}}}};
  second.model = {{"config", {{"hidden_act", "relu"}}},
                  {"vocabulary", {{"lines", 3}}},
                  {"weights", {{"crc32c", "00000001"}}}};
  { RunDirectory(path, Resume::automatic, false).start(first); }
  {
    RunDirectory run(path, Resume::automatic, false);
    run.compare(first);
    std::string message = message_of([&] { run.compare(second); });
    EXPECT_THAT(message, HasSubstr(R"(model.config.hidden_act: "gelu" before, "relu" now)"));
    EXPECT_THAT(message, HasSubstr(R"(model.weights.crc32c: nothing before, "00000001" now)"));
  }
  Json record = Json::parse(text_of(path + "/run.json"));
  record.erase("model");
  std::ofstream(path + "/run.json") << record;
  RunDirectory(path, Resume::automatic, false).compare(second);
}

TEST(RunDirectory, ADataFileMayBeCalledAsASettingThatIsNotCompared) {
  std::string path = fresh_path("named");
  RunRequest first = request(1, {"a"});
  first.data = {{"log_every", {{"crc32c", "00000001"}}}};
  { RunDirectory(path, Resume::automatic, false).start(first); }
  RunRequest second = first;
  second.data["log_every"]["crc32c"] = "00000002";
  RunDirectory run(path, Resume::automatic, false);
  EXPECT_THAT(message_of([&] { run.compare(second); }),
              HasSubstr(R"(data.log_every.crc32c: "00000001" before, "00000002" now)"));
}

TEST(RunDirectory, ALogThatCannotBeWrittenIsSaidOnce) {
  std::string path = fresh_path("full");
  fs::create_directories(path);
  fs::create_symlink("/dev/full", path + "/log.txt");
  testing::internal::CaptureStderr();
  {
    RunDirectory run(path, Resume::automatic, false);
    log_line("one");
    log_line("two");
  }
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("one\nwarning: " + path +
                              "/log.txt: lines are missing: No space left on device\ntwo\n"));
}

TEST(RunDirectory, NeverRequireOverwrite) {
  std::string path = fresh_path("modes");
  EXPECT_THAT(message_of([&] { RunDirectory(path, Resume::require, false); }),
              HasSubstr("holds no run to go on with"));
  EXPECT_FALSE(fs::exists(path));
  { RunDirectory(path, Resume::never, false).start(request(1, {"a"})); }
  EXPECT_THAT(message_of([&] { RunDirectory(path, Resume::never, false); }),
              HasSubstr("--overwrite removes it"));
  fs::create_directories(path + "/checkpoints/step-1");
  std::ofstream(path + "/mine.txt") << "kept";
  {
    RunDirectory run(path, Resume::never, true);
    EXPECT_FALSE(run.continues());
    EXPECT_TRUE(fs::exists(path + "/checkpoints/step-1"));  // until it starts
    run.start(request(1, {"a"}));
    EXPECT_FALSE(fs::exists(path + "/checkpoints"));
    EXPECT_TRUE(fs::exists(path + "/mine.txt"));
  }
}

TEST(RunDirectory, OverwriteKeepsTheEarlierRunUntilTheStart) {
  std::string path = fresh_path("overwrite");
  { RunDirectory(path, Resume::automatic, false).start(request(1, {"a"})); }
  fs::create_directories(path + "/model");
  std::ofstream(path + "/model/vocab.txt") << "12345";
  std::ofstream(path + "/model/mine.txt") << "kept";
  std::string record = text_of(path + "/run.json"), log = text_of(path + "/log.txt");
  {
    RunDirectory run(path, Resume::automatic, true);
    log_line("a preflight that fails");
    EXPECT_GE(run.replaced_bytes(), 5 + record.size());
    for (std::string input : {"/model/vocab.txt", "/model", "/run.json"}) {
      EXPECT_THAT(message_of([&] { run.keep_inputs({path + "/." + input}); }),
                  HasSubstr("--overwrite would remove " + path + "/"));
    }
    run.keep_inputs({path + "/model/mine.txt", path, "-", "", path + "/other"});
  }
  EXPECT_EQ(text_of(path + "/run.json"), record);
  EXPECT_EQ(text_of(path + "/log.txt"), log);
  RunDirectory run(path, Resume::automatic, true);
  log_line("a start");
  run.start(request(2, {"b"}));
  EXPECT_FALSE(fs::exists(path + "/model/vocab.txt"));
  EXPECT_TRUE(fs::exists(path + "/model/mine.txt"));
  EXPECT_THAT(text_of(path + "/log.txt"), HasSubstr("Z a start\n"));
  EXPECT_EQ(run.record()["starts"].size(), 1u);
}

TEST(RunDirectory, OtherRunsThatAreReplacedGoWithTheStart) {
  std::string path = fresh_path("several"), other = path + "/seed-1";
  {
    RunDirectory run(other, Resume::automatic, false);
    run.start(request(1, {}));
    fs::create_directories(other + "/model");
    std::ofstream(other + "/model/config.json") << "{}";
  }
  std::ofstream(other + "/notes.txt") << "mine";
  int told = 0;
  {
    RunDirectory run(path, Resume::automatic, true);
    run.replace_also({other}, [&] { ++told; });
    EXPECT_THAT(message_of([&] { RunDirectory(other, Resume::automatic, true); }),
                HasSubstr("in use by process"));
    EXPECT_THAT(message_of([&] { run.keep_inputs({other + "/model"}); }),
                HasSubstr("--overwrite would remove"));
    EXPECT_GT(run.replaced_bytes(), 0u);
  }
  EXPECT_TRUE(fs::exists(other + "/model/config.json")) << "it did not start";
  EXPECT_EQ(told, 0);
  RunDirectory run(path, Resume::automatic, true);
  run.replace_also({other}, [&] { ++told; });
  run.start(request(1, {}));
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(fs::exists(other + "/model"));
  EXPECT_FALSE(fs::exists(other + "/run.json"));
  EXPECT_FALSE(fs::exists(other + "/lock"));
  EXPECT_EQ(text_of(other + "/notes.txt"), "mine");
}

TEST(RunDirectory, FilesOfOthersStay) {
  std::string path = fresh_path("others");
  fs::create_directories(path + "/model");
  std::ofstream(path + "/model/config.json") << "mine";
  EXPECT_THAT(message_of([&] { RunDirectory(path, Resume::automatic, true); }),
              HasSubstr("not known to be a run's"));
  EXPECT_TRUE(fs::exists(path + "/model/config.json"));
  fs::remove_all(path + "/model");
  std::ofstream(path + "/log.txt") << "mine\n";
  { RunDirectory run(path, Resume::automatic, false); }
  EXPECT_THAT(text_of(path + "/log.txt"), HasSubstr("mine"));
}

TEST(RunDirectory, FailedPreflightLeavesNothing) {
  std::string path = fresh_path("nothing");
  { RunDirectory run(path + "/of/a/run/", Resume::automatic, false); }
  EXPECT_FALSE(fs::exists(path));
  fs::create_directories(path);
  { RunDirectory run(path, Resume::automatic, false); }
  EXPECT_TRUE(fs::is_empty(path));
}

TEST(RunDirectory, StartThatCannotBeWrittenDownLeavesNothing) {
  std::string path = fresh_path("unwritten");
  {
    RunDirectory run(path, Resume::automatic, false);
    fs::create_directories(path + "/run.json/in the way");
    EXPECT_THAT(message_of([&] { run.start(request(1, {"a"})); }), HasSubstr("run.json"));
    EXPECT_FALSE(run.continues());
    fs::remove_all(path + "/run.json");
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(RunDirectory, DamagedRecordsAndForeignFolders) {
  for (const char* text :
       {"", "{", "[]", "{\"a\":1}", R"({"settings": 1})", R"({"settings": {}, "chosen": [[]]})",
        R"({"settings": {}, "starts": -1})", R"({"settings": {}, "finished": {"step": "x"}})"}) {
    std::string path = fresh_path("damaged");
    fs::create_directories(path);
    std::ofstream(path + "/run.json") << text;
    std::string message = message_of([&] { RunDirectory(path, Resume::automatic, false); });
    EXPECT_THAT(message, HasSubstr(path + "/run.json:")) << text;
    EXPECT_THAT(message, HasSubstr("this is not the record of a run")) << text;
  }
  std::string path = fresh_path("foreign");
  fs::create_directories(path + "/model");
  EXPECT_THAT(message_of([&] { RunDirectory(path, Resume::automatic, false); }),
              HasSubstr("but no run.json"));
  EXPECT_THAT(message_of([] { RunDirectory("/proc/nowhere/x", Resume::automatic, false); }),
              HasSubstr("--output_dir=/proc/nowhere/x"));
}

}  // namespace
}  // namespace bertrain
