// Dropout of hidden values: which elements are kept is a function of key, example, position and column alone.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/array.h"
#include "base/rng.h"

namespace bertrain {

// A key and a rate. An element is kept iff its 16 random bits are at least `threshold`, and then multiplied by
// `scale`.
struct DropoutSource {
  Block key{};
  uint32_t threshold = 0;
  float scale = 1;

  DropoutSource() = default;
  DropoutSource(Block k, double rate)
      : key(k),
        threshold(static_cast<uint32_t>(std::lround(rate * 65536))),
        scale(static_cast<float>(1 / (1 - threshold / 65536.0))) {}
};

// Where the rows of [rows, C] belong: element (n, p, c) takes lane c mod 4 of threefry(key, {n, p ⌈C/4⌉ + ⌊c/4⌋}),
// the lanes being the low and high half of the first word, then of the second.
struct RowDropout {
  DropoutSource source;
  const uint32_t* number = nullptr;   // [rows], of the example in the global batch
  const int32_t* position = nullptr;  // [rows], in the example
};

// y [rows, C] = x with dropout; y may be x. f32 or bf16.
void dropout_rows(const void* x, void* y, DType dtype, int64_t rows, int64_t columns,
                  const RowDropout& dropout);

}  // namespace bertrain
