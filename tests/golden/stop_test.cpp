// A request to stop between the parts of a batch: the step was not, and can be made again.
#include <gtest/gtest.h>

#include <csignal>
#include <utility>

#include "tiny_bert.h"
#include "train/signals.h"

namespace bertrain {
namespace {

// Programs after whose first run a signal comes, where one was asked for.
class SignalledProgram final : public Program {
 public:
  SignalledProgram(std::unique_ptr<Program> inner, bool& due)
      : inner_(std::move(inner)), due_(due) {}
  DeviceArrays run(DeviceArrays inputs) override {
    DeviceArrays outputs = inner_->run(std::move(inputs));
    if (std::exchange(due_, false)) std::raise(SIGTERM);
    return outputs;
  }
  void send_ahead(const DeviceArrays& inputs) override { inner_->send_ahead(inputs); }
  DeviceArrays update(DeviceState& state, const std::vector<std::string>& from_state,
                      DeviceArrays inputs) override {
    DeviceArrays outputs = inner_->update(state, from_state, std::move(inputs));
    if (std::exchange(due_, false)) std::raise(SIGTERM);
    return outputs;
  }
  ProgramFacts facts() const override { return inner_->facts(); }
  Named<double> profile(DeviceArrays inputs) override { return inner_->profile(std::move(inputs)); }

 private:
  std::unique_ptr<Program> inner_;
  bool& due_;
};

class SignalledBackend final : public Backend {
 public:
  explicit SignalledBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}
  int replicas() const override { return inner_->replicas(); }
  int64_t row_slots(int64_t max_sequence) const override { return inner_->row_slots(max_sequence); }
  bool takes(const Node& node) const override { return inner_->takes(node); }
  std::unique_ptr<Program> compile(const Graph& graph) override {
    return std::make_unique<SignalledProgram>(inner_->compile(graph), due);
  }
  std::unique_ptr<DeviceState> make_state() override { return inner_->make_state(); }
  std::shared_ptr<DeviceArray> put(const Array& value, Placement placement) override {
    return inner_->put(value, placement);
  }
  Array get(const DeviceArray& value) override { return inner_->get(value); }

  bool due = false;

 private:
  std::unique_ptr<Backend> inner_;
};

class Stop : public testing::TestWithParam<NamedBackend> {};

TEST_P(Stop, BetweenMicroBatchesTheStepIsUndone) {
  Golden golden("tf1_pretrain");
  std::unique_ptr<Backend> inner = GetParam().make();
  if (!inner) GTEST_SKIP() << kNoPlugin;
  auto backend = std::make_unique<SignalledBackend>(std::move(inner));
  auto task = golden.task();
  StepOptions options = golden.step_options();
  auto state = make_state(golden, *task, *backend, options.optimizer.get());
  StepRunner runner(*task, *state, options);
  std::vector<Batch> parts = split_batch(golden, {2, 2, 2});
  runner.run(0, parts);
  Named<Array> before = state->snapshot();
  StepResult unbroken;
  {
    StopSignals signals;
    backend->due = true;  // when the first part is in the sums
    EXPECT_THROW(runner.run(1, parts), Stopped);
    EXPECT_FALSE(backend->due);
    for (const auto& [name, value] : state->snapshot()) {
      EXPECT_EQ(difference(value, before.at(name)), 0) << name;
    }
  }
  StepResult again = runner.run(1, parts);
  auto fresh = make_state(golden, *task, *backend, options.optimizer.get());
  StepRunner other(*task, *fresh, options);
  other.run(0, parts);
  unbroken = other.run(1, parts);
  EXPECT_EQ(again.loss, unbroken.loss);
  EXPECT_EQ(again.gradient_norm, unbroken.gradient_norm);
  for (const auto& [name, value] : state->snapshot()) {
    EXPECT_EQ(difference(value, fresh->get(name)), 0) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Stop, testing::ValuesIn(golden_backends()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bertrain
