// Too little room is refused with numbers.
#include "storage/disk_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace bertrain {
namespace {

TEST(DiskSpace, RefusesWithBothNumbers) {
  std::string folder = testing::TempDir();
  EXPECT_NO_THROW(require_space(folder, 1, "a checkpoint"));
  try {
    require_space(folder, uint64_t{1} << 62, "a checkpoint");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(),
                testing::HasSubstr(folder + ": 4194304.0 TiB (4611686018427387904 bytes)"));
    EXPECT_THAT(e.what(), testing::HasSubstr("needed for a checkpoint"));
  }
  EXPECT_THROW(free_bytes("/nowhere/at/all"), Error);
}

TEST(DiskSpace, ReadableBytes) {
  EXPECT_EQ(readable_bytes(512), "512 bytes");
  EXPECT_EQ(readable_bytes(1536), "1.5 KiB");
  EXPECT_EQ(readable_bytes(uint64_t{3} << 30), "3.0 GiB");
}

}  // namespace
}  // namespace bertrain
