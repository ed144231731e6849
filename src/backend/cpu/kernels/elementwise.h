// Functions of one or two elements over whole arrays, f32 or bf16, computed in f32.
#pragma once

#include <cstdint>

#include "base/array.h"

namespace bertrain {

enum class Unary {
  convert,  // the identity, into the other dtype
  negate,
  exp,
  sqrt,
  rsqrt,
  tanh,
  erf,
  relu,
  gelu,      // x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))
  gelu_erf,  // x Φ(x)
};
enum class Binary {
  add,
  subtract,
  multiply,
  divide,
  maximum,
  gelu_grad,      // of x and dy
  gelu_erf_grad,  // of x and dy
};

struct ArrayRef {
  const void* data = nullptr;
  DType dtype = DType::f32;  // f32 or bf16
};

// y [count] = op(x); y may be x if the dtypes are equal.
void map(Unary op, ArrayRef x, void* y, DType y_dtype, int64_t count);
void convert_here(ArrayRef x, void* y, DType y_dtype,
                  int64_t count);  // in the calling thread alone
// y [count] = op(a, b), all of one dtype; y may be a or b.
void map(Binary op, const void* a, const void* b, void* y, DType dtype, int64_t count);
// y [count] = x · factor + term, in one dtype; y may be x.
void scale_and_shift(const void* x, float factor, float term, void* y, DType dtype, int64_t count);

}  // namespace bertrain
