// Batches are cut into parts that a device's memory holds, also where only its compiler knows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tiny_bert.h"
#include "train/capacities.h"

namespace bertrain {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// A device whose compiler refuses programs of more than so many slots.
class SmallDevice final : public Backend {
 public:
  explicit SmallDevice(int64_t slots) : slots_(slots) {}
  int replicas() const override { return 1; }
  int64_t row_slots(int64_t max_sequence) const override { return max_sequence; }
  bool takes(const Node& node) const override { return inner_->takes(node); }
  std::unique_ptr<Program> compile(const Graph& graph) override {
    Tensor ids = graph.find_input("batch/input_ids");
    if (ids && elements(ids.type().shape) > slots_) {
      ++refused;
      throw Error("the device has too little memory", ExitCode::failed, true).within("compiling");
    }
    return inner_->compile(graph);
  }
  std::shared_ptr<DeviceArray> put(const Array& value, Placement placement) override {
    return inner_->put(value, placement);
  }
  Array get(const DeviceArray& value) override { return inner_->get(value); }

  int refused = 0;

 private:
  std::unique_ptr<Backend> inner_ = make_reference_backend();
  int64_t slots_;
};

class DeviceMemory : public testing::Test {
 protected:
  std::vector<Capacity> capacities(Backend& backend) {
    auto state = make_state(golden, *task, backend, options.optimizer.get());
    StepRunner runner(*task, *state, options);
    CapacityChoice choice;
    choice.batch_size = kGoldenExamples;
    choice.memory = memory;
    choice.of_device = true;
    return training_capacities(*task, backend, runner, "train", choice);
  }

  Golden golden{"tf1_pretrain"};
  std::unique_ptr<Task> task = golden.task();
  StepOptions options = golden.step_options();
  uint64_t memory = uint64_t{1} << 40;
};

TEST_F(DeviceMemory, WhatItsCompilerRefusesRunsInParts) {
  int64_t most = 3 * task->max_seq_length();
  SmallDevice device(most);
  std::vector<Capacity> found = capacities(device);
  EXPECT_GT(device.refused, 0);
  EXPECT_LE(found.back().rows * found.back().slots, most);
  EXPECT_GE(found.back().slots, task->max_seq_length());
}

TEST_F(DeviceMemory, ARefusalOfOneExampleIsSaid) {
  SmallDevice device(task->max_seq_length() - 1);
  EXPECT_THAT([&] { capacities(device); },
              ThrowsMessage<Error>(HasSubstr("compiling: the device has too little memory")));
}

TEST_F(DeviceMemory, OfARunThatGoesOnIsSaid) {
  Capacity kept = {4, task->max_seq_length(), 4, 4 * task->max_targets()};
  std::string said[2];
  for (bool enough : {false, true}) {
    SmallDevice device(enough ? 1 << 20 : 1);
    auto state = make_state(golden, *task, device, options.optimizer.get());
    StepRunner runner(*task, *state, options);
    CapacityChoice choice;
    choice.memory = memory;
    said[enough] = beyond_memory(runner, kept, 1, choice);
  }
  EXPECT_THAT(said[0], HasSubstr("than there is (compiling: the device has too little memory)"));
  EXPECT_EQ(said[1], "");
}

// While parts of a batch run, the optimizer's two means of every parameter lie beside them.
TEST_F(DeviceMemory, OfPartsHoldsTheOptimizersSlotsToo) {
  SmallDevice device(1 << 20);
  auto state = make_state(golden, *task, device, options.optimizer.get());
  StepRunner runner(*task, *state, options);
  Capacity one = {1, task->max_seq_length(), 1, task->max_targets()};
  uint64_t slots = 8 * state->parameter_count();
  EXPECT_EQ(runner.peak(one, true), runner.facts(one, true).peak + slots);
  EXPECT_EQ(runner.peak(one, false), runner.facts(one, false).peak);
  EXPECT_GT(runner.inputs(one, true), runner.inputs(one, false) + slots / 3);  // sums of gradients
}

TEST_F(DeviceMemory, IsNamedWhereItIsTooSmall) {
  SmallDevice device(1 << 20);
  memory = 1000;
  EXPECT_THAT(
      [&] { capacities(device); },
      ThrowsMessage<Error>(AllOf(HasSubstr("bytes of the device's memory, 1000 are allowed"),
                                 HasSubstr("if it has more"))));
}

}  // namespace
}  // namespace bertrain
