// The random numbers of Python 3's random.Random, to the bit: the order of pre-training data is defined by them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bertrain {

// MT19937 (Matsumoto & Nishimura 1998) as CPython seeds and uses it. Equal on every version from 3.6 on; Python 2 draws
// other numbers from the same generator.
class PythonRandom {
 public:
  explicit PythonRandom(int64_t seed);  // random.Random(seed); the sign does not count

  uint32_t next32();
  double random();  // [0, 1), 53 bits from two draws
  // [0, bound), bound ≥ 1; draws at least once, also for a bound of 1
  uint64_t below(uint64_t bound);
  int64_t randint(int64_t low, int64_t high);  // [low, high], low ≤ high

  template <class T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i-- > 1;) {
      using std::swap;
      swap(values[i], values[below(i + 1)]);
    }
  }

 private:
  static constexpr size_t kWords = 624;
  void seed_by_array(const uint32_t* key, size_t length);
  void twist();
  std::array<uint32_t, kWords> state_;
  size_t used_ = kWords;
};

}  // namespace bertrain
