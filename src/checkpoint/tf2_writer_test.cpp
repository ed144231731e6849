// What is written of the reference programs' own checkpoints is equal to them, graph and all.
#include "checkpoint/tf2_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "checkpoint/renamed.h"
#include "checkpoint/tf2_objects.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const std::string kData = BERTRAIN_TEST_DATA "/tf2/";

class Tf2Writer : public testing::TestWithParam<std::string> {};

// The reference programs' counter of saves is their own: all else is equal to the byte.
TEST_P(Tf2Writer, WritesWhatTheReferenceWrote) {
  std::string from = kData + GetParam(), to = "mem://written/x.ckpt-1";
  auto reader = name_objects(open_checkpoint(from));
  write_tf2_checkpoint(to, *reader, 2);
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

// The encoder's file with a tensor under another name, or without it ("").
void write_with(const std::string& from, const std::string& to, int64_t heads = 2) {
  const auto rename = [&](std::string_view name) { return name == from ? to : std::string(name); };
  auto reader = rename_tensors(name_objects(open_checkpoint(kData + "encoder")), rename,
                               [](std::string_view) { return false; });
  write_tf2_checkpoint("mem://unwritten/x.ckpt-1", *reader, heads);
}

TEST(Tf2WriterErrors, SayWhatIsMissingOrHasNoPlace) {
  const auto why = [](const char* text) { return ThrowsMessage<Error>(HasSubstr(text)); };
  EXPECT_THAT([] { write_with("bert/pooler/dense/bias", ""); },
              why("needs bert/pooler/dense/bias, which is not there"));
  EXPECT_THAT([] { write_with("", "", 3); },
              why("is f32 [32, 32], which 3 attention heads cannot share"));
  EXPECT_THAT([] { write_with("bert/encoder/layer_1/output/dense/kernel", "extra"); },
              why("has no place for bert/encoder/layer_1/attention/output/LayerNorm/beta"));
  EXPECT_FALSE(is_checkpoint("mem://unwritten/x.ckpt-1"));
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
