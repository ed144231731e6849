// Threefry keys from names, and the distributions drawn on the host.
#include "base/rng.h"

#include <cmath>
#include <numbers>

namespace bertrain {

Block key_of(uint64_t seed, std::string_view path, uint32_t call) {
  Block state = threefry({static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
                         {call, static_cast<uint32_t>(path.size())});
  for (size_t i = 0; i < path.size(); i += 4) {
    uint32_t word = 0;
    for (size_t j = i; j < i + 4 && j < path.size(); ++j) {
      word |= uint32_t{static_cast<uint8_t>(path[j])} << (8 * (j - i));
    }
    state = threefry(state, {word, static_cast<uint32_t>(i)});
  }
  return state;
}

double truncated_normal(Block key, uint64_t index) {
  // Box-Muller on fresh counters until the value lies within two deviations (95 % do at once).
  for (uint32_t attempt = 0;; ++attempt) {
    Block salted = {key[0] ^ static_cast<uint32_t>(index >> 32), key[1] + attempt * 0x9E3779B9u};
    Block bits = threefry(salted, {static_cast<uint32_t>(index), attempt});
    double u = (bits[0] + 1.0) / 4294967297.0;
    double v = bits[1] / 4294967296.0;
    double value = std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
    if (std::fabs(value) <= 2.0) return value;
  }
}

uint64_t below(Block key, uint64_t index, uint64_t bound) {
  Block bits = threefry(key, {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32)});
  uint64_t wide = (uint64_t{bits[0]} << 32) | bits[1];
  // The bias of a product is below bound / 2^64.
  return static_cast<uint64_t>((static_cast<unsigned __int128>(wide) * bound) >> 64);
}

}  // namespace bertrain
