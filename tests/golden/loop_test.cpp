// The loop reads and sends the next batch while a step runs, and loses nothing by it.
#include "train/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/log.h"
#include "tiny_bert.h"
#include "train/signals.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Events = std::vector<std::string>;

class ToldProgram final : public Program {
 public:
  ToldProgram(std::unique_ptr<Program> inner, Events& events)
      : inner_(std::move(inner)), events_(events) {}
  DeviceArrays run(DeviceArrays inputs) override {
    events_.push_back("run");
    return inner_->run(std::move(inputs));
  }
  DeviceArrays update(DeviceState& state, const std::vector<std::string>& from_state,
                      DeviceArrays inputs) override {
    events_.push_back("run");
    return inner_->update(state, from_state, std::move(inputs));
  }
  ProgramFacts facts() const override { return inner_->facts(); }
  Named<double> profile(DeviceArrays inputs) override { return inner_->profile(std::move(inputs)); }

 private:
  std::unique_ptr<Program> inner_;
  Events& events_;
};

// Says when a program runs and when its norm and losses are waited for.
class ToldBackend final : public Backend {
 public:
  explicit ToldBackend(Events& events) : events_(events) {}
  int replicas() const override { return 1; }
  int64_t row_slots(int64_t) const override { return 0; }
  bool takes(const Node& node) const override { return inner_->takes(node); }
  std::unique_ptr<Program> compile(const Graph& graph) override {
    return std::make_unique<ToldProgram>(inner_->compile(graph), events_);
  }
  std::unique_ptr<DeviceState> make_state() override { return inner_->make_state(); }
  std::shared_ptr<DeviceArray> put(const Array& value, Placement placement) override {
    return inner_->put(value, placement);
  }
  Array get(const DeviceArray& value) override {
    if (value.type().shape.empty() && events_.back() != "wait") events_.push_back("wait");
    return inner_->get(value);
  }

 private:
  std::unique_ptr<Backend> inner_ = make_cpu_backend({1, 0, nullptr, {}});
  Events& events_;
};

// The golden's batch again and again; number n holds rows 6 n, 6 n + 1, …
class Repeated final : public Stream<std::vector<Batch>> {
 public:
  Repeated(std::vector<Batch> micro, Events& events) : micro_(std::move(micro)), events_(events) {}
  std::optional<std::vector<Batch>> next() override {
    events_.push_back("read");
    if (before) before(count_);
    std::vector<Batch> micro = micro_;
    for (Batch& batch : micro) {
      for (int64_t& row : batch.row) row += kGoldenExamples * count_;
    }
    ++count_;
    return micro;
  }
  uint64_t skip(uint64_t count) override { return count; }

  std::function<void(int64_t number)> before;

 private:
  std::vector<Batch> micro_;
  Events& events_;
  int64_t count_ = 0;
};

class Loop : public testing::Test {
 protected:
  Loop() {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    options.steps = 3;
  }
  ~Loop() override { std::filesystem::remove_all(folder); }

  bool run() {
    RunCheckpoints checkpoints(folder + "/checkpoints", *state, 5, {});
    checkpoints.restore();
    Journal journal(folder, checkpoints.step(), options.steps, 1);
    StepRunner runner(*task, *state, golden.step_options());
    try {
      bool done = train(options, runner, batches, checkpoints, journal, {});
      saved = checkpoints.saved_step();
      return done;
    } catch (...) {
      saved = checkpoints.saved_step();
      throw;
    }
  }

  LogSink quiet{[](std::string_view) {}};
  Golden golden{"tf1_classify"};
  Events events;
  ToldBackend backend{events};
  std::unique_ptr<Task> task = golden.task();
  std::shared_ptr<const Optimizer> optimizer = golden.step_options().optimizer;
  std::unique_ptr<State> state = make_state(golden, *task, backend, optimizer.get());
  std::string folder = testing::TempDir() + "/loop_test" + std::to_string(getpid());
  Repeated batches{split_batch(golden, {6}), events};
  LoopOptions options;
  int64_t saved = -1;
};

TEST_F(Loop, ReadsTheNextBatchWhileAStepRuns) {
  events = {"begin"};
  EXPECT_TRUE(run());
  EXPECT_THAT(events, ElementsAre("begin", "read", "run", "read", "wait", "run", "read", "wait",
                                  "run", "wait"));
  EXPECT_EQ(saved, 3);
}

TEST_F(Loop, ReadsNoFurtherThanItIsAskedToGo) {
  options.stop_after = 2;
  EXPECT_FALSE(run());
  EXPECT_EQ(std::count(events.begin(), events.end(), "read"), 2);
  EXPECT_EQ(saved, 2);
}

TEST_F(Loop, AStepThatRunsIsSavedWhenASignalComes) {
  StopSignals signals;
  batches.before = [](int64_t number) {
    if (number < 2) return;
    std::raise(SIGTERM);
    throw Stopped();
  };
  EXPECT_FALSE(run());
  EXPECT_EQ(saved, 2);  // of the batch that was not read nothing was done
}

TEST_F(Loop, WhatIsDueComesBeforeTheErrorOfTheNextBatch) {
  options.save_every = parse_cadence("save_every", "1");
  batches.before = [](int64_t number) {
    if (number == 2) throw error("row 12 of the data is damaged");
  };
  EXPECT_THROW(run(), Error);
  EXPECT_EQ(saved, 2);
}

TEST_F(Loop, NamesTheRowsOfTheStepThatFailed) {
  batches.before = [&](int64_t number) {
    if (number != 1) return;  // step 1 runs
    std::vector<float> bias(32, std::numeric_limits<float>::quiet_NaN());
    state->set("bert/pooler/dense/bias", make_array<float>({32}, bias));
  };
  try {
    run();
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("step 2: "));
    EXPECT_THAT(e.what(), HasSubstr("table.tsv:8, mem://golden/table.tsv:9, mem"));
  }
}

}  // namespace
}  // namespace bertrain
