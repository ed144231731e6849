// State on a backend: first values, what is taken from a checkpoint, and resuming strictly.
#include "train/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backend/host_arrays.h"
#include "base/error.h"
#include "base/error_message.h"
#include "optim/adamw.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A checkpoint in memory: read what was written.
class MemoryCheckpoint : public CheckpointReader, public CheckpointWriter {
 public:
  const Named<ArrayType>& tensors() const override { return types_; }
  Array read(std::string_view name) const override { return arrays_.find(name)->second; }
  const std::string& uri() const override { return uri_; }
  void write(std::string_view name, const Array& value) override {
    types_.insert_or_assign(std::string(name), value.type);
    arrays_.insert_or_assign(std::string(name), value);
  }
  void commit() override {}
  void forget(const std::string& name) {
    types_.erase(name);
    arrays_.erase(name);
  }

 private:
  std::string uri_ = "memory.ckpt";
  Named<ArrayType> types_;
  Named<Array> arrays_;
};

std::vector<Parameter> two_parameters(int64_t classes = 2) {
  return {{"bert/pooler/dense/kernel", {3, 3}, {Init::truncated_normal, 0.02}, {}},
          {"output_weights", {classes, 3}, {Init::truncated_normal, 0.02}, {}}};
}

class StateTest : public testing::Test {
 protected:
  HostBackend backend;
  std::unique_ptr<Optimizer> optimizer = make_adamw({});
  MemoryCheckpoint file;
};

TEST_F(StateTest, SavesAndResumesParametersAndSlots) {
  State state(backend, two_parameters(), optimizer.get());
  state.initialise(5);
  EXPECT_EQ(state.types().size(), 6U);
  EXPECT_EQ(state.types(false).size(), 2U);
  EXPECT_EQ(state.parameter_count(), 15U);
  state.set("output_weights/adam_m", make_array<float>({2, 3}, std::vector<float>(6, 0.5F)));
  state.save(file);
  file.write("global_step", scalar<int64_t>(7));

  State other(backend, two_parameters(), optimizer.get());
  other.load_all(file, {"global_step"});
  EXPECT_EQ(other.get("output_weights/adam_m").as<float>()[5], 0.5F);
  EXPECT_EQ(other.get("bert/pooler/dense/kernel").as<float>()[4],
            state.get("bert/pooler/dense/kernel").as<float>()[4]);
}

TEST_F(StateTest, ResumingListsEverythingThatDoesNotFit) {
  State state(backend, two_parameters(), optimizer.get());
  state.initialise(5);
  state.save(file);
  file.forget("output_weights/adam_v");
  file.write("surprise", scalar<float>(1));
  State other(backend, two_parameters(4), optimizer.get());
  other.initialise(5);
  try {
    other.load_all(file);
    FAIL() << "a checkpoint that does not fit was loaded";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("memory.ckpt does not fit"));
    EXPECT_THAT(e.what(), HasSubstr("missing in it:\n  output_weights/adam_v"));
    EXPECT_THAT(e.what(), HasSubstr("output_weights: f32 [4, 3] here, f32 [2, 3] in the file"));
    EXPECT_THAT(e.what(), HasSubstr("unknown to this run:\n  surprise"));
  }
}

TEST_F(StateTest, StartingFromACheckpointReportsWhatBecameOfIt) {
  State source(backend, two_parameters(), optimizer.get());
  source.initialise(5);
  source.save(file);
  file.write("cls/predictions/output_bias", zeros({DType::f32, {9}}));
  file.write("global_step", scalar<int64_t>(7));

  std::vector<Parameter> wanted = two_parameters(3);
  wanted.push_back({"output_bias", {3}, {Init::zeros}, {}});
  State state(backend, wanted, optimizer.get());
  state.initialise(6);
  LoadReport report = state.load_parameters(file);
  EXPECT_THAT(report.loaded, ElementsAre("bert/pooler/dense/kernel"));
  EXPECT_THAT(report.resized, ElementsAre("output_weights"));
  EXPECT_THAT(report.missing, ElementsAre("output_bias"));
  EXPECT_THAT(report.unused, ElementsAre("cls/predictions/output_bias"));
  EXPECT_EQ(state.get("bert/pooler/dense/kernel").as<float>()[0],
            source.get("bert/pooler/dense/kernel").as<float>()[0]);
}

TEST_F(StateTest, AnEncoderOfAnotherShapeIsAnError) {
  file.write("bert/pooler/dense/kernel", zeros({DType::f32, {4, 4}}));
  State state(backend, two_parameters());
  state.initialise(5);
  try {
    state.load_parameters(file);
    FAIL() << "an encoder of another shape was loaded";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("bert/pooler/dense/kernel is f32 [4, 4], but the model's "
                                    "configuration makes it f32 [3, 3]"));
  }
}

TEST_F(StateTest, ValuesThatAreNotFiniteAreNamedAndRefused) {
  State state(backend, two_parameters(), optimizer.get());
  state.initialise(5);
  EXPECT_FALSE(state.first_not_finite());
  std::vector<float> values(6, 0.5F);
  values[4] = NAN;
  state.set("output_weights/adam_m", make_array<float>({2, 3}, values));
  EXPECT_EQ(state.first_not_finite(), "output_weights/adam_m");
  values[4] = -INFINITY;
  state.set("output_weights", make_array<float>({2, 3}, values));
  EXPECT_EQ(state.first_not_finite(), "output_weights");
  state.save(file);
  State other(backend, two_parameters(), optimizer.get());
  other.initialise(5);
  std::string expected = "memory.ckpt: output_weights holds NaN or an infinity";
  EXPECT_THAT(message_of([&] { other.load_parameters(file); }), HasSubstr(expected));
  EXPECT_THAT(message_of([&] { other.load_all(file); }), HasSubstr(expected));
}

TEST_F(StateTest, FirstValuesDependOnSeedAndNameAlone) {
  State one(backend, two_parameters()), other(backend, two_parameters(7)),
      third(backend, two_parameters());
  one.initialise(5);
  other.initialise(5);
  third.initialise(6);
  std::string name = "bert/pooler/dense/kernel";
  EXPECT_EQ(one.get(name).as<float>()[8], other.get(name).as<float>()[8]);
  EXPECT_NE(one.get(name).as<float>()[8], third.get(name).as<float>()[8]);
}

}  // namespace
}  // namespace bertrain
