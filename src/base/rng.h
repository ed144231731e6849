// Counter-based random numbers: Threefry-2x32-20 (Salmon et al. 2011), equal to the bit on every
// backend.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace bertrain {

using Block = std::array<uint32_t, 2>;

// 64 random bits for a key and a counter.
constexpr Block threefry(Block key, Block counter) {
  constexpr int kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  uint32_t k[3] = {key[0], key[1], 0x1BD11BDAu ^ key[0] ^ key[1]};
  uint32_t x0 = counter[0] + k[0], x1 = counter[1] + k[1];
  for (uint32_t round = 0; round < 20; ++round) {
    int r = kRotations[round % 8];
    x0 += x1;
    x1 = (x1 << r) | (x1 >> (32 - r));
    x1 ^= x0;
    if (round % 4 == 3) {
      uint32_t s = round / 4 + 1;
      x0 += k[s % 3];
      x1 += k[(s + 1) % 3] + s;
    }
  }
  return {x0, x1};
}

// A key for one use of randomness: the seed of the run folded with a name
// ("bert/encoder/layer_0/output") and the number of the call under that name.
Block key_of(uint64_t seed, std::string_view path, uint32_t call);

// Value number `index` of the normal distribution of that key, redrawn beyond two deviations
// (BERT's initializer).
double truncated_normal(Block key, uint64_t index);

// A shuffled order of 0 … count − 1 is a function of the key alone: swap(i, draw(i) mod (i + 1))
// from the end.
uint64_t below(Block key, uint64_t index, uint64_t bound);  // uniform in [0, bound)

}  // namespace bertrain
