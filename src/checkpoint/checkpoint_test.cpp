// Every name that a checkpoint goes by, and what is said when there is none.
#include "checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "base/error.h"
#include "base/error_message.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kData = BERTRAIN_TEST_DATA "/tf1_pretrain";

std::string opening(const std::string& name) {
  return message_of([&] { open_checkpoint(name); });
}

class CheckpointNames : public testing::Test {
 protected:
  CheckpointNames() {
    char name[] = "/tmp/bertrain-checkpoint-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~CheckpointNames() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  std::string folder_;
};

TEST_F(CheckpointNames, EveryFormOfATfName) {
  std::string prefix = kData + "/trained/model.ckpt-20";
  for (const std::string& name : {prefix, prefix + ".index", prefix + ".data-00000-of-00001",
                                  prefix + ".meta", kData + "/trained", kData + "/trained/",
                                  kData + "/trained//", kData + "/trained/checkpoint"}) {
    EXPECT_EQ(open_checkpoint(name)->read("global_step").as<int64_t>()[0], 20) << name;
  }
}

TEST_F(CheckpointNames, DirectoryWithoutStateFile) {
  fs::copy(kData + "/init", folder_, fs::copy_options::recursive);
  fs::remove(at("checkpoint"));
  EXPECT_EQ(open_checkpoint(folder_)->uri(), at("bert_model.ckpt.index"));
  fs::copy_file(at("bert_model.ckpt.index"), at("other.index"));
  EXPECT_THAT(opening(folder_), HasSubstr("holds several checkpoints"));
}

TEST_F(CheckpointNames, MissingPartIsNamed) {
  fs::copy(kData + "/init", folder_, fs::copy_options::recursive);
  fs::rename(at("bert_model.ckpt.index"), at("away"));
  EXPECT_THAT(opening(folder_), HasSubstr("bert_model.ckpt.index is missing"));
  EXPECT_THAT(opening(at("bert_model.ckpt")), HasSubstr("bert_model.ckpt.index is missing"));
  fs::rename(at("away"), at("bert_model.ckpt.index"));
  fs::remove(at("bert_model.ckpt.data-00000-of-00001"));
  EXPECT_THAT(opening(folder_), HasSubstr("data-00000-of-00001 is missing"));
}

TEST_F(CheckpointNames, SafetensorsByContentAndByDirectory) {
  for (const char* name : {"model.safetensors", "weights.bin"}) {
    auto writer = create_checkpoint(at(name), CheckpointFormat::safetensors);
    writer->write("x", scalar(1.5f));
    writer->commit();
    EXPECT_EQ(open_checkpoint(at(name))->read("x").as<float>()[0], 1.5f);
  }
  EXPECT_EQ(open_checkpoint(folder_ + "/")->uri(), at("model.safetensors"));
}

TEST_F(CheckpointNames, ForeignAndAbsentThings) {
  write_text(at("tf_model.h5"), "\x89HDF\r\n\x1a\n");
  EXPECT_THAT(opening(at("tf_model.h5")), HasSubstr("a Keras HDF5 file, which is not read"));
  EXPECT_THAT(opening(folder_), HasSubstr("holds tf_model.h5, which is not read"));
  write_text(at("pytorch_model.bin"), "PK\x03\x04 and so on");
  EXPECT_THAT(opening(folder_), HasSubstr("pytorch_model.bin: truncated"));
  write_text(at("pytorch_model.bin"), "");
  EXPECT_THAT(opening(folder_), HasSubstr("pytorch_model.bin: no file of torch.save"));
  write_text(at("text"), "hello");
  EXPECT_THAT(opening(at("text")), HasSubstr("not a checkpoint"));
  write_text(at("empty"), "");
  EXPECT_THAT(opening(at("empty")), HasSubstr("not a checkpoint"));
  write_text(at("short.safetensors"), "");
  EXPECT_THAT(opening(at("short.safetensors")), HasSubstr("truncated: expected 8 bytes, found 0"));
  EXPECT_FALSE(is_checkpoint(at("text")));
  EXPECT_FALSE(is_checkpoint(at("nowhere")));
  EXPECT_TRUE(is_checkpoint(at("short.safetensors")));
  EXPECT_TRUE(is_checkpoint(kData + "/trained/"));
  EXPECT_THAT(opening(at("nowhere")), HasSubstr("no checkpoint is there"));
  EXPECT_THAT(opening(""), HasSubstr("empty name"));
}

TEST_F(CheckpointNames, TfBundleIsWritten) {
  auto writer = create_checkpoint(at("model.ckpt-5"), CheckpointFormat::tf_bundle);
  writer->write("global_step", scalar<int64_t>(5));
  writer->commit();
  EXPECT_EQ(open_checkpoint(folder_)->read("global_step").as<int64_t>()[0], 5);
}

}  // namespace
}  // namespace bertrain
