// CRC-32C against the values of RFC 3720, appendix B.4, and the masking of the record format.
#include "formats/crc32c.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace bertrain {
namespace {

TEST(Crc32c, KnownValues) {
  std::vector<std::byte> zeros(32), ones(32, std::byte{0xff}), rising(32);
  for (size_t i = 0; i < rising.size(); ++i) rising[i] = std::byte(i);
  EXPECT_EQ(crc32c(zeros), 0x8a9136aau);
  EXPECT_EQ(crc32c(ones), 0x62a8ab43u);
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, GoesOnWhereItStopped) {
  std::string_view text = "123456789";
  auto bytes = std::as_bytes(std::span(text));
  EXPECT_EQ(crc32c(bytes), 0xe3069283u);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(crc32c(bytes.subspan(cut), crc32c(bytes.first(cut))), 0xe3069283u);
  }
}

TEST(Crc32c, MaskIsUndone) {
  EXPECT_EQ(mask_crc(0), kCrcMaskDelta);
  for (uint32_t crc : {0u, 1u, 0xe3069283u, 0xffffffffu}) {
    EXPECT_NE(mask_crc(crc), crc);
    EXPECT_EQ(unmask_crc(mask_crc(crc)), crc);
  }
}

}  // namespace
}  // namespace bertrain
