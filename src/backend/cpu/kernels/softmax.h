// Softmax over rows, and the cross entropy of a label with its gradient.
#pragma once

#include <cstdint>

#include "base/array.h"

namespace bertrain {

// y [rows, columns] = e^x / Σ e^x of each row, f32 or bf16; y may be x.
void softmax_rows(const void* x, DType dtype, int64_t rows, int64_t columns, void* y);

// For logits [rows, columns] (f32 or bf16) and label [rows], all f32: lse = log Σ e^logit,
// loss = lse − logit of the label, argmax = the first of the largest. A NaN among the logits makes loss and lse NaN.
// A label outside 0 … columns − 1 names no column: its logit counts as 0.
struct CrossEntropyRows {
  const void* logits = nullptr;
  DType dtype = DType::f32;
  int64_t rows = 0, columns = 0;
  const int32_t* label = nullptr;
};
void cross_entropy(const CrossEntropyRows& x, float* loss, float* lse, int32_t* argmax);

// dlogits [rows, columns] = (e^(logit − lse) − [column is the label]) dloss, in the dtype of the logits, whose
// memory it may take.
void cross_entropy_grad(const CrossEntropyRows& x, const float* lse, const float* dloss,
                        void* dlogits);

// Both at once, which reads the logits from memory once only. dlogits may be of another dtype than
// the logits, and then has memory of its own.
struct CrossEntropyResults {
  float *loss = nullptr, *lse = nullptr;  // [rows]
  int32_t* argmax = nullptr;              // [rows]
  const float* dloss = nullptr;           // [rows], given
  void* dlogits = nullptr;                // [rows, columns]
  DType dlogits_dtype = DType::f32;
};
void cross_entropy_with_grad(const CrossEntropyRows& x, const CrossEntropyResults& to);

}  // namespace bertrain
