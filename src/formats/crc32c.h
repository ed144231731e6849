// CRC-32C (Castagnoli), plain and in the masked form that TFRecord, event and checkpoint files
// store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bertrain {

// Of `bytes`, or of what gave `before` followed by `bytes`.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before = 0);

// A checksum of data that holds checksums is weak, so the files store it rotated and shifted.
constexpr uint32_t kCrcMaskDelta = 0xa282ead8u;
constexpr uint32_t mask_crc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + kCrcMaskDelta; }
constexpr uint32_t unmask_crc(uint32_t masked) {
  uint32_t rotated = masked - kCrcMaskDelta;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace bertrain
