// Every op there is: what backends, printing, parity tests and bench walk.
#pragma once

#include <span>
#include <string_view>

#include "tensor/graph.h"

namespace bertrain {

// Primitives (every backend has them).
extern const Op kConvert, kAdd, kSubtract, kMultiply, kDivide, kMaximum, kNegate, kExp, kLog, kSqrt,
    kRsqrt, kTanh, kCompare, kSelect, kReshape, kTranspose, kBroadcast, kConcatenate, kSlice, kPad,
    kIota, kReduceSum, kReduceMax, kMatmul, kGatherRows, kScatterAddRows, kBitAnd, kBitOr, kBitXor,
    kShiftLeft, kShiftRight, kAllReduceSum, kBarrier;

// Composites (each expands into primitives, step by step).
extern const Op kLinear, kGelu, kGeluGrad, kGeluErf, kGeluErfGrad, kErf, kRelu, kSoftmax,
    kLayerNorm, kLayerNormGrad, kRandomBits, kDropout, kAddAndNorm, kAddAndNormGrad, kAttention,
    kAttentionGrad, kSoftmaxCrossEntropy, kSoftmaxCrossEntropyGrad, kSumOfSquares, kAdamW;

std::span<const Op* const> op_table();
const Op* find_op(std::string_view name);  // null if there is none

}  // namespace bertrain
