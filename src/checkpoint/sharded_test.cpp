// Weights in several files: those of the real writers, and indexes that lie.
#include "checkpoint/sharded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/error_message.h"
#include "checkpoint/checkpoint.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kData = BERTRAIN_TEST_DATA "/pytorch/";

// One file "a.safetensors" with the tensors x and y, and an index of these words.
std::string opening(const std::string& index) {
  auto writer = create_checkpoint("mem://shards/a.safetensors", CheckpointFormat::safetensors);
  writer->write("x", scalar(1.0f));
  writer->write("y", scalar(2.0f));
  writer->commit();
  write_text("mem://shards/model.safetensors.index.json", index);
  return message_of([] { open_checkpoint("mem://shards"); });
}

std::string mapped(const std::string& pairs) { return R"({"weight_map": {)" + pairs + "}}"; }

TEST(Sharded, AllThreeFormsHoldTheSame) {
  auto want = open_checkpoint(kData + "model");
  ASSERT_EQ(want->tensors().size(), 25u);
  for (const char* name : {"shards", "shards_bin", "shards/model.safetensors.index.json",
                           "shards_bin/pytorch_model.bin.index.json"}) {
    auto got = open_checkpoint(kData + name);
    EXPECT_EQ(format_of_checkpoint(kData + name), CheckpointFormat::shards);
    EXPECT_THAT(got->uri(), testing::EndsWith(".index.json"));
    EXPECT_EQ(got->tensors(), want->tensors());
    for (const auto& [tensor, type] : want->tensors()) {
      EXPECT_TRUE(std::ranges::equal(got->read(tensor).raw(), want->read(tensor).raw())) << tensor;
    }
  }
}

TEST(Sharded, IndexesThatLie) {
  EXPECT_EQ(opening(mapped(R"("x": "a.safetensors", "y": "a.safetensors")")), "no error");
  EXPECT_THAT(message_of([] { open_checkpoint("mem://shards")->read("z"); }),
              HasSubstr("no tensor 'z'"));
  EXPECT_THAT(opening(mapped(R"("x": "a.safetensors")")),
              HasSubstr("tensor 'y' of a.safetensors is not in the index"));
  EXPECT_THAT(opening(mapped(R"("z": "a.safetensors")")),
              HasSubstr("tensor 'z' is not in mem://shards/a.safetensors, where the index has it"));
  EXPECT_THAT(opening(mapped(R"("x": "b.safetensors")")),
              HasSubstr("mem://shards/b.safetensors is missing, which has tensor 'x'"));
  for (const char* elsewhere :
       {"../a.safetensors", "/etc/passwd", "..", "", "b\\\\c", "s/a.safetensors"}) {
    EXPECT_THAT(opening(mapped(R"("x": ")" + std::string(elsewhere) + "\"")),
                HasSubstr("in the same folder expected"))
        << elsewhere;
  }
  EXPECT_THAT(opening(mapped(R"("x": "model.safetensors.index.json")")),
              HasSubstr("neither a safetensors file"));
  EXPECT_THAT(opening(mapped(R"("x": 3)")), HasSubstr("weight_map.x"));
  EXPECT_THAT(opening("{}"), HasSubstr("weight_map"));
  EXPECT_THAT(opening(R"({"weight_map": []})"), HasSubstr("weight_map"));
  EXPECT_THAT(opening("{"), HasSubstr("this is not JSON"));
  EXPECT_THAT(opening(""), HasSubstr("this is not JSON"));
}

TEST(Sharded, HalfADownloadIsNamed) {
  char name[] = "/tmp/bertrain-shards-XXXXXX";
  std::string folder = ::mkdtemp(name);
  fs::copy(kData + "shards_bin", folder, fs::copy_options::recursive);
  std::string part = folder + "/pytorch_model-00002-of-00002.bin";
  write_text(part, read_text(part).substr(0, 1000));
  EXPECT_THAT(message_of([&] { open_checkpoint(folder); }), HasSubstr(part + ": truncated"));
  fs::remove(part);
  EXPECT_THAT(message_of([&] { open_checkpoint(folder); }), HasSubstr(part + " is missing"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace bertrain
