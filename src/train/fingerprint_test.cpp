// Fingerprints tell changed files from unchanged ones.
#include "train/fingerprint.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

Json one(const std::string& text) {
  write_text("mem://fingerprint/a", text);
  return fingerprints({"mem://fingerprint/a"})["mem://fingerprint/a"];
}

TEST(Fingerprint, SizeAndChecksum) {
  EXPECT_EQ(one("123456789"),
            (Json{{"bytes", 9}, {"crc32c", "e3069283"}}));  // the CRC's check value
  EXPECT_EQ(one(""), (Json{{"bytes", 0}, {"crc32c", "00000000"}}));
  EXPECT_NE(one("a b"), one("a c"));
  EXPECT_THROW(fingerprints({"mem://fingerprint/absent"}), Error);
}

TEST(Fingerprint, LargeFilesAreSampledToTheirEnd) {
  std::string text((uint64_t{66} << 20) + 13, 'x');
  Json before = one(text);
  text.back() = 'y';
  EXPECT_NE(one(text), before);
  text.back() = 'x';
  EXPECT_EQ(one(text), before);
  text.front() = 'y';
  EXPECT_NE(one(text), before);
}

TEST(Fingerprint, MoreFilesThanARecordCanListAreRefused) {
  write_text("mem://fingerprint/many", "x");
  std::vector<std::string> files(10'001, "mem://fingerprint/many");
  EXPECT_THROW(fingerprints(files), Error);
}

TEST(Fingerprint, EveryFileOfWeightsCounts) {
  const auto write = [](const std::string& name, float value) {
    auto writer =
        create_checkpoint("mem://fingerprint/weights/" + name, CheckpointFormat::safetensors);
    writer->write(name.substr(0, 1), scalar(value));
    writer->commit();
  };
  write("a.safetensors", 1);
  EXPECT_EQ(fingerprint_of_checkpoint("mem://fingerprint/weights/a.safetensors"),
            fingerprint("mem://fingerprint/weights/a.safetensors"));
  write("b.safetensors", 2);
  write_text("mem://fingerprint/weights/model.safetensors.index.json",
             R"({"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}})");
  Json before = fingerprint_of_checkpoint("mem://fingerprint/weights");
  EXPECT_EQ(before.size(), 3u);
  EXPECT_TRUE(before.contains("b.safetensors")) << before;
  write("b.safetensors", 3);
  EXPECT_NE(fingerprint_of_checkpoint("mem://fingerprint/weights"), before);
}

TEST(Fingerprint, LinesCountInTheirOrder) {
  Json one = fingerprint_of_lines({"a", "bc"});
  EXPECT_EQ(one["lines"], Json(2));
  EXPECT_EQ(fingerprint_of_lines({"a", "bc"}), one);
  EXPECT_NE(fingerprint_of_lines({"bc", "a"})["crc32c"], one["crc32c"]);
  EXPECT_NE(fingerprint_of_lines({"ab", "c"})["crc32c"], one["crc32c"]);
}

}  // namespace
}  // namespace bertrain
