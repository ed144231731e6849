// What is written of the reference programs' own checkpoints is equal to them, graph and all.
#include "checkpoint/tf2_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "checkpoint/tf2_objects.h"
#include "storage/memory.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const std::string kData = BERTRAIN_TEST_DATA "/tf2/";

class Tf2Writer : public testing::TestWithParam<std::string> {};

// The reference programs' counter of saves is their own: all else is equal to the byte.
TEST_P(Tf2Writer, WritesWhatTheReferenceWrote) {
  std::string from = kData + GetParam(), to = testing::TempDir() + "tf2_written";
  auto reader = name_objects(open_checkpoint(from));
  auto writer = create_tf2_checkpoint(to, 2);
  for (const auto& [name, type] : reader->tensors()) writer->write(name, reader->read(name));
  writer->commit();
  auto got = open_checkpoint(to), want = open_checkpoint(from);
  EXPECT_TRUE(got->object_graph() == want->object_graph());
  ASSERT_EQ(got->tensors(), want->tensors());
  const std::string counter = "save_counter/.ATTRIBUTES/VARIABLE_VALUE";
  for (const auto& [key, type] : want->tensors()) {
    if (key == counter) continue;
    Array a = got->read(key), b = want->read(key);
    EXPECT_TRUE(std::equal(a.raw().begin(), a.raw().end(), b.raw().begin())) << key;
  }
  if (want->read(counter).as<int64_t>()[0] != 1) return;
  for (const char* end : {".index", ".data-00000-of-00001"}) {
    EXPECT_TRUE(read_text(to + end) == read_text(from + end)) << end;
  }
}

std::unique_ptr<CheckpointWriter> writer_without(const std::string& left_out, int64_t heads = 2) {
  auto reader = name_objects(open_checkpoint(kData + "encoder"));
  auto writer = create_tf2_checkpoint(testing::TempDir() + "tf2_unwritten", heads);
  for (const auto& [name, type] : reader->tensors()) {
    if (name != left_out) writer->write(name, reader->read(name));
  }
  return writer;
}

TEST(Tf2WriterErrors, SayWhatIsMissingOrHasNoPlace) {
  const auto why = [](const char* text) { return ThrowsMessage<Error>(HasSubstr(text)); };
  EXPECT_THAT([] { writer_without("bert/pooler/dense/bias")->commit(); },
              why("needs bert/pooler/dense/bias, which is not there"));
  EXPECT_THAT([] { writer_without("", 3)->commit(); },
              why("is f32 [32, 32], which 3 attention heads cannot share"));
  EXPECT_THAT(
      [] {
        auto writer = writer_without("");
        writer->write("extra", scalar(1.0F));
        writer->commit();
      },
      why("has no place for extra"));
  EXPECT_FALSE(is_checkpoint(testing::TempDir() + "tf2_unwritten"));
}

INSTANTIATE_TEST_SUITE_P(Reference, Tf2Writer,
                         testing::Values("encoder/bert_model.ckpt-1",
                                         "classifier/ctl_step_14.ckpt-2",
                                         "pretraining/ctl_step_0.ckpt-1"),
                         [](const auto& info) {
                           return info.param.substr(0, info.param.find('/'));
                         });

}  // namespace
}  // namespace bertrain
