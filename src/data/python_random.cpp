// Mersenne Twister with CPython's seeding, floats, bounded integers.
#include "data/python_random.h"

#include <bit>

#include "base/error.h"

namespace bertrain {

PythonRandom::PythonRandom(int64_t seed) {
  uint64_t magnitude = seed < 0 ? ~static_cast<uint64_t>(seed) + 1 : static_cast<uint64_t>(seed);
  const uint32_t key[2] = {static_cast<uint32_t>(magnitude),
                           static_cast<uint32_t>(magnitude >> 32)};
  seed_by_array(key, key[1] == 0 ? 1 : 2);
}

void PythonRandom::seed_by_array(const uint32_t* key, size_t length) {
  state_[0] = 19650218u;
  for (size_t i = 1; i < kWords; ++i) {
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + static_cast<uint32_t>(i);
  }
  size_t i = 1;
  auto mixed = [&](uint32_t factor) {
    return state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * factor);
  };
  auto advance = [&] {
    if (++i < kWords) return;
    state_[0] = state_[kWords - 1];
    i = 1;
  };
  for (size_t k = 0; k < kWords; ++k) {
    size_t j = k % length;
    state_[i] = mixed(1664525u) + key[j] + static_cast<uint32_t>(j);
    advance();
  }
  for (size_t k = 1; k < kWords; ++k) {
    state_[i] = mixed(1566083941u) - static_cast<uint32_t>(i);
    advance();
  }
  state_[0] = 0x80000000u;
}

void PythonRandom::twist() {
  for (size_t i = 0; i < kWords; ++i) {
    uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % kWords] & 0x7fffffffu);
    state_[i] = state_[(i + 397) % kWords] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
  }
  used_ = 0;
}

uint32_t PythonRandom::next32() {
  if (used_ == kWords) twist();
  uint32_t y = state_[used_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

double PythonRandom::random() {
  uint32_t high = next32() >> 5, low = next32() >> 6;
  return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0);
}

uint64_t PythonRandom::below(uint64_t bound) {
  check(bound >= 1, "a random number below 0");
  int bits = std::bit_width(bound);
  for (;;) {
    // getrandbits: the lowest word is drawn first, the last one is shortened.
    uint64_t value = next32() >> (bits >= 32 ? 0 : 32 - bits);
    if (bits > 32) value |= static_cast<uint64_t>(next32() >> (64 - bits)) << 32;
    if (value < bound) return value;
  }
}

int64_t PythonRandom::randint(int64_t low, int64_t high) {
  check(low <= high, "a random number of an empty range");
  return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low) + 1));
}

}  // namespace bertrain
