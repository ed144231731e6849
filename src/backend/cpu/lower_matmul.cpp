// Matrix products: linear layers and plain matmul, by the packed-panel GEMM.
#include "backend/cpu/kernels/gemm.h"
#include "backend/cpu/lowering.h"
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

bool float_inputs(const Node& node) {
  DType type = node.inputs[0].dtype();
  return type == DType::f32 || type == DType::bf16;
}

// [..., M, K] · [..., K, N], one GEMM for each of the leading axes' elements.
Call prepare_matmul(const Binding& b) {
  bool ta = b.node.integer("transpose_a") != 0, tb = b.node.integer("transpose_b") != 0;
  const Shape &x = b.in(0).shape, &w = b.in(1).shape, &y = b.out(0).shape;
  size_t r = y.size();
  Gemm g;
  g.m = y[r - 2], g.n = y[r - 1], g.k = x[ta ? r - 2 : r - 1];
  g.a = {nullptr, x[r - 1], ta, b.in(0).dtype};
  g.b = {nullptr, w[r - 1], tb, b.in(1).dtype};
  g.c_stride = g.n, g.c_dtype = b.out(0).dtype, g.compute = b.in(0).dtype;
  int64_t count = 1;
  for (size_t i = 0; i + 2 < r; ++i) count *= y[i];
  auto bytes = [](int64_t rows, int64_t columns, DType type) {
    return rows * columns * static_cast<int64_t>(size_of(type));
  };
  int64_t step_a = bytes(g.m, g.k, g.a.dtype), step_b = bytes(g.k, g.n, g.b.dtype),
          step_c = bytes(g.m, g.n, g.c_dtype);
  return [=, in = b.inputs, out = b.outputs[0]](const Addresses& at) {
    for (int64_t i = 0; i < count; ++i) {
      Gemm one = g;
      one.a.data = at.get<std::byte>(in[0]) + i * step_a;
      one.b.data = at.get<std::byte>(in[1]) + i * step_b;
      one.c = at.get<std::byte>(out) + i * step_c;
      gemm(one);
    }
  };
}

Call prepare_linear(const Binding& b) {
  bool transposed = b.node.integer("transpose_w") != 0;
  Gemm g;
  g.k = last_extent(b.in(0)), g.n = last_extent(b.out(0));
  g.m = g.n == 0 ? 0 : elements(b.out(0).shape) / g.n;
  g.a = {nullptr, g.k, false, b.in(0).dtype};
  g.b = {nullptr, transposed ? g.k : g.n, transposed, b.in(1).dtype};
  g.c_stride = g.n, g.c_dtype = b.out(0).dtype, g.compute = b.in(0).dtype;
  return [g, in = b.inputs, out = b.outputs[0]](const Addresses& at) {
    Gemm one = g;
    one.a.data = at.get<std::byte>(in[0]);
    one.b.data = at.get<std::byte>(in[1]);
    one.c = at.get<std::byte>(out);
    one.bias = in.size() > 2 ? at.get<float>(in[2]) : nullptr;
    gemm(one);
  };
}

bool takes_linear(const Node& node) {
  bool bias = node.inputs.size() > 2 && node.inputs[2];
  return float_inputs(node) && (!bias || node.inputs[2].dtype() == DType::f32);
}

const Lowering kLowerings[] = {{&kMatmul, float_inputs, prepare_matmul},
                               {&kLinear, takes_linear, prepare_linear}};

}  // namespace

std::span<const Lowering> matmul_lowerings() { return kLowerings; }

}  // namespace bertrain
