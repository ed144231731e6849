// The list of all ops; a new op is a file of this folder and a line here.
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

constexpr const Op* kTable[] = {
    &kConvert,
    &kAdd,
    &kSubtract,
    &kMultiply,
    &kDivide,
    &kMaximum,
    &kNegate,
    &kExp,
    &kLog,
    &kSqrt,
    &kRsqrt,
    &kTanh,
    &kCompare,
    &kSelect,
    &kReshape,
    &kTranspose,
    &kBroadcast,
    &kConcatenate,
    &kSlice,
    &kPad,
    &kIota,
    &kReduceSum,
    &kReduceMax,
    &kMatmul,
    &kGatherRows,
    &kScatterAddRows,
    &kBitAnd,
    &kBitOr,
    &kBitXor,
    &kShiftLeft,
    &kShiftRight,
    &kAllReduceSum,
    &kBarrier,
    &kLinear,
    &kGelu,
    &kGeluGrad,
    &kGeluErf,
    &kGeluErfGrad,
    &kErf,
    &kRelu,
    &kSoftmax,
    &kLayerNorm,
    &kLayerNormGrad,
    &kRandomBits,
    &kDropout,
    &kAddAndNorm,
    &kAddAndNormGrad,
    &kAttention,
    &kAttentionGrad,
    &kSoftmaxCrossEntropy,
    &kSoftmaxCrossEntropyGrad,
    &kSumOfSquares,
    &kAdamW,
};

}  // namespace

std::span<const Op* const> op_table() { return kTable; }

const Op* find_op(std::string_view name) {
  for (const Op* op : kTable) {
    if (op->name == name) return op;
  }
  return nullptr;
}

}  // namespace bertrain
