// Random values for tests of kernels, as f32 and as bf16, and a loop over the instruction sets.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/cpu/kernels/instruction_set.h"
#include "base/array.h"
#include "base/rng.h"

namespace bertrain {

// Values in [−scale, scale), held in memory as `dtype` and readable as numbers.
struct TestValues {
  DType dtype;
  std::vector<float> numbers;
  std::vector<uint16_t> bits;  // bf16

  TestValues(int64_t count, uint32_t seed, DType type = DType::f32, float scale = 1)
      : dtype(type), numbers(static_cast<size_t>(count)), bits(numbers.size()) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      const Block random = threefry({seed, 0}, {static_cast<uint32_t>(i), 0});
      numbers[i] = scale * (static_cast<float>(random[0] >> 8) / (1 << 23) - 1);
      bits[i] = f32_to_bf16(numbers[i]);
      if (dtype == DType::bf16) numbers[i] = bf16_to_f32(bits[i]);
    }
  }
  float operator[](int64_t i) const { return numbers[static_cast<size_t>(i)]; }
  void* data() { return dtype == DType::bf16 ? static_cast<void*>(bits.data()) : numbers.data(); }
  // After a kernel wrote to data().
  TestValues& read() {
    for (size_t i = 0; i < bits.size() && dtype == DType::bf16; ++i) {
      numbers[i] = bf16_to_f32(bits[i]);
    }
    return *this;
  }
};

// |got − want| within `relative` of |want| + 1; four bits of the last places of bf16.
inline void expect_close(double got, double want, DType dtype, double relative = 2e-6) {
  const double allowed = (dtype == DType::bf16 ? 0.01 : relative) * (1 + std::abs(want));
  EXPECT_NEAR(got, want, allowed);
}

// f() on every instruction set of this CPU, the best one last and in use afterwards.
template <class F>
void on_each_instruction_set(const F& f) {
  const std::vector<std::string> names = instruction_sets();
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    SCOPED_TRACE(*name);
    use_instruction_set(*name);
    f();
  }
}

}  // namespace bertrain
