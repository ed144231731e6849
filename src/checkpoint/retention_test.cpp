// Saved states: what stays, what a kill or a bad disk leaves, and which state a restart takes.
#include "checkpoint/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "base/error.h"
#include "base/error_message.h"
#include "base/log.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int64_t> steps_of(const StateStore& store) {
  std::vector<int64_t> steps;
  for (const SavedState& s : store.states()) steps.push_back(s.step);
  return steps;
}

void save(StateStore& store, int64_t step) {
  auto pending = store.begin(step);
  write_text(pending.file("state"), "state of step " + std::to_string(step));
  write_text(pending.file("more/names"), std::string(100, 'n'));
  pending.complete();
}

// An empty folder for each test, and the same in memory.
class Retention : public testing::TestWithParam<bool> {
 protected:
  Retention() {
    char name[] = "/tmp/bertrain-retention-XXXXXX";
    folder_ = ::mkdtemp(name);
    root_ = GetParam() ? folder_ : "mem:/" + folder_;
  }
  ~Retention() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return root_ + "/" + name; }
  std::string folder_, root_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, Retention, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "local" : "memory"; });

TEST_P(Retention, NothingThere) {
  StateStore store(root_, 3);
  EXPECT_FALSE(store.newest());
  EXPECT_FALSE(store.best());
  EXPECT_TRUE(store.states().empty());
  store.clean();
}

TEST_P(Retention, KeepsTheNewestByNumber) {
  StateStore store(root_, 2);
  for (int64_t step : {9, 10, 99999, 100000}) save(store, step);
  EXPECT_THAT(steps_of(store), ElementsAre(99999, 100000));
  EXPECT_EQ(store.newest()->directory, at("step-100000"));
  EXPECT_EQ(read_text(at("step-100000/state")), "state of step 100000");
}

TEST_P(Retention, KeepOneWithBest) {
  StateStore store(root_, 1);
  for (int64_t step = 10; step <= 100; step += 10) {
    save(store, step);
    if (step == 20) store.set_best(step);
  }
  EXPECT_THAT(steps_of(store), ElementsAre(20, 100));
  EXPECT_EQ(store.best()->step, 20);
  store.set_best(100);
  EXPECT_THAT(steps_of(store), ElementsAre(100));
  EXPECT_FALSE(storage_for(root_).size(at("step-20/state")));
  EXPECT_FALSE(fs::exists(at("step-20")));
}

TEST_P(Retention, WithoutItsMarkerAStateIsAbsentAndCleanedUp) {
  StateStore store(root_, 3);
  save(store, 5);
  write_text(at("step-7/state"), "half");                  // killed between files
  write_text(at("step-8/.state.1-1.partial"), "quarter");  // killed within a file
  write_text(at("step-junk/file"), "somebody else's");
  EXPECT_EQ(store.newest()->step, 5);
  store.clean();
  EXPECT_FALSE(storage_for(root_).size(at("step-7/state")));
  EXPECT_TRUE(storage_for(root_).size(at("step-junk/file")));
  EXPECT_THAT(steps_of(store), ElementsAre(5));
  EXPECT_FALSE(fs::exists(at("step-8")));
}

TEST_P(Retention, GivenUpStateLeavesNothing) {
  StateStore store(root_, 3);
  {
    auto pending = store.begin(4);
    write_text(pending.file("state"), "x");
    auto moved = std::move(pending);
    EXPECT_EQ(moved.directory(), at("step-4"));
  }
  EXPECT_TRUE(storage_for(root_).list(at("")).empty());
}

TEST_P(Retention, BrokenNewestFallsBackLoudly) {
  StateStore store(root_, 3);
  for (int64_t step : {1, 2, 3}) save(store, step);
  std::string whole = read_text(at("step-3/state")), said;
  LogSink sink([&](std::string_view line) { said += std::string(line) + "\n"; });
  write_text(at("step-3/state"), whole.substr(1));
  EXPECT_EQ(store.newest()->step, 2);
  EXPECT_THAT(said, HasSubstr("warning: the saved state of step 3 is not used: "));
  EXPECT_THAT(said, HasSubstr("step-3/state: expected 15 bytes, found 14"));
  EXPECT_THAT(said, HasSubstr("going back to the state of step 2"));
  whole[3] ^= 1;
  write_text(at("step-3/state"), whole);
  EXPECT_EQ(store.newest()->step, 2);
  EXPECT_THAT(said, HasSubstr("step-3/state: damaged: its checksum does not hold"));
  storage_for(root_).remove(at("step-2/more/names"));
  EXPECT_EQ(store.newest()->step, 1);
  EXPECT_THAT(said, HasSubstr("step-2/more/names: missing: expected 100 bytes"));
  write_text(at("step-1/complete.json"), "{");
  EXPECT_THAT(message_of([&] { store.newest(); }), HasSubstr("no saved state is whole"));
}

TEST_P(Retention, WhatIsBrokenIsNotTheNewest) {
  StateStore store(root_, 1);
  for (int64_t step : {20, 25}) {
    save(store, step);
    if (step == 20) store.set_best(step);
  }
  write_text(at("step-25/state"), "damaged");
  LogSink sink([](std::string_view) {});
  EXPECT_EQ(store.newest()->step, 20);
  // What was just completed stays, even beside a marker of a later step.
  save(store, 22);
  EXPECT_TRUE(storage_for(root_).size(at("step-22/state")));
  store.go_on_from(20);
  EXPECT_THAT(steps_of(store), ElementsAre(20));
  save(store, 23);
  EXPECT_THAT(steps_of(store), ElementsAre(20, 23));
  EXPECT_EQ(store.newest()->step, 23);
}

TEST_P(Retention, SavingAStepAgainReplacesIt) {
  StateStore store(root_, 1);
  save(store, 1);
  auto again = store.begin(1);
  EXPECT_FALSE(store.newest());
  write_text(again.file("other"), "new");
  again.complete();
  EXPECT_FALSE(storage_for(root_).size(at("step-1/state")));
  EXPECT_EQ(store.newest()->step, 1);
}

TEST_P(Retention, DamagedMarkersAreErrors) {
  SavedState state{1, at("step-1")};
  for (const char* marker :
       {"", "[]", "{}", R"({"files":3})", R"({"files":[3]})", R"({"files":[{"name":3}]})",
        R"({"files":[{"name":"x","bytes":-1,"crc32c":0}]})",
        R"({"files":[{"name":"x","bytes":18446744073709551615,"crc32c":0}]})"}) {
    write_text(at("step-1/complete.json"), marker);
    EXPECT_NE(message_of([&] { verify_state(state); }), "no error") << marker;
  }
}

}  // namespace
}  // namespace bertrain
