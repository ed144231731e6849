// CRC-32C by ISA-L, which picks the fastest instructions at run time.
#include "formats/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace bertrain {

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before) {
  constexpr size_t kPiece = size_t{1} << 30;  // ISA-L counts in int
  uint32_t state = ~before;
  while (!bytes.empty()) {
    size_t size = std::min(bytes.size(), kPiece);
    // ISA-L does not write to the buffer, but takes it without const.
    auto* start = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    state = crc32_iscsi(start, static_cast<int>(size), state);
    bytes = bytes.subspan(size);
  }
  return ~state;
}

}  // namespace bertrain
