// Fingerprints tell changed files from unchanged ones.
#include "train/fingerprint.h"

#include <gtest/gtest.h>

#include "base/error.h"
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

}  // namespace
}  // namespace bertrain
