// Softmax, and cross entropy of one label a row with its gradient in the logits' memory.
#include "backend/cpu/fuse.h"
#include "backend/cpu/kernels/softmax.h"
#include "backend/cpu/lowering.h"
#include "base/error.h"
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

bool takes_rows(const Node& node) {
  DType type = node.inputs[0].dtype();
  return (type == DType::f32 || type == DType::bf16) && node.inputs[0].extent(-1) > 0;
}

Call prepare_softmax(const Binding& b) {
  int64_t rows = rows_of(b.in(0)), columns = last_extent(b.in(0));
  return [=, type = b.in(0).dtype, in = b.inputs[0], out = b.outputs[0]](const Addresses& at) {
    softmax_rows(at.get<void>(in), type, rows, columns, at.get<void>(out));
  };
}

CrossEntropyRows rows_at(const Addresses& at, CrossEntropyRows rows, int logits, int label) {
  rows.logits = at.get<void>(logits);
  rows.label = at.get<int32_t>(label);
  for (int64_t i = 0; i < rows.rows; ++i) {
    if (rows.label[i] < 0 || rows.label[i] >= rows.columns) {
      throw error("label {} of row {} is outside 0 to {}", rows.label[i], i, rows.columns - 1);
    }
  }
  return rows;
}

CrossEntropyRows shape_of_rows(const Binding& b) {
  CrossEntropyRows rows;
  rows.dtype = b.in(0).dtype;
  rows.rows = rows_of(b.in(0)), rows.columns = last_extent(b.in(0));
  return rows;
}

Call prepare_cross_entropy(const Binding& b) {
  return [rows = shape_of_rows(b), in = b.inputs, out = b.outputs](const Addresses& at) {
    cross_entropy(rows_at(at, rows, in[0], in[1]), at.get<float>(out[0]), at.get<float>(out[1]),
                  at.get<int32_t>(out[2]));
  };
}

Call prepare_cross_entropy_grad(const Binding& b) {
  return [rows = shape_of_rows(b), in = b.inputs, out = b.outputs[0]](const Addresses& at) {
    cross_entropy_grad(rows_at(at, rows, in[0], in[1]), at.get<float>(in[2]), at.get<float>(in[3]),
                       at.get<void>(out));
  };
}

Call prepare_cross_entropy_with_grad(const Binding& b) {
  return [rows = shape_of_rows(b), dtype = b.out(3).dtype, in = b.inputs,
          out = b.outputs](const Addresses& at) {
    CrossEntropyResults to;
    to.loss = at.get<float>(out[0]), to.lse = at.get<float>(out[1]);
    to.argmax = at.get<int32_t>(out[2]), to.dloss = at.get<float>(in[2]);
    to.dlogits = at.get<void>(out[3]), to.dlogits_dtype = dtype;
    cross_entropy_with_grad(rows_at(at, rows, in[0], in[1]), to);
  };
}

const Lowering kLowerings[] = {
    {&kSoftmax, takes_rows, prepare_softmax, {{0, 0}}},
    {&kSoftmaxCrossEntropy, takes_rows, prepare_cross_entropy},
    {&kCrossEntropyWithGrad, takes_rows, prepare_cross_entropy_with_grad, {{3, 0}}},
    {&kSoftmaxCrossEntropyGrad, takes_rows, prepare_cross_entropy_grad, {{0, 0}}},
};

}  // namespace

std::span<const Lowering> loss_lowerings() { return kLowerings; }

}  // namespace bertrain
