// Matrix products by the packed-panel GEMM, with the bias and the sum that joined them.
#include <omp.h>

#include <cstring>

#include "backend/cpu/fuse.h"
#include "backend/cpu/kernels/elementwise.h"
#include "backend/cpu/kernels/gemm.h"
#include "backend/cpu/lowering.h"
#include "base/first_failure.h"
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

bool is_float(DType type) { return type == DType::f32 || type == DType::bf16; }

// A batch of equal products, one for each element of the leading axes.
struct Batch {
  Gemm first;
  int64_t count = 1;
  int64_t step_a = 0, step_b = 0, step_c = 0;  // bytes

  // Many in parallel, few one after the other.
  void run() const {
    const auto one = [this](int64_t i, void (*multiply)(const Gemm&)) {
      Gemm g = first;
      g.a.data = static_cast<const std::byte*>(first.a.data) + i * step_a;
      g.b.data = static_cast<const std::byte*>(first.b.data) + i * step_b;
      g.c = static_cast<std::byte*>(first.c) + i * step_c;
      multiply(g);
    };
    if (count < 2 * omp_get_max_threads()) {
      for (int64_t i = 0; i < count; ++i) one(i, gemm);
      return;
    }
    FirstFailure failure;  // of scratch
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < count; ++i) failure.run([&] { one(i, gemm_here); });
    failure.rethrow();
  }
};

Batch batch_of(const Binding& b) {
  const bool ta = b.node.integer("transpose_a") != 0, tb = b.node.integer("transpose_b") != 0;
  const Shape &x = b.in(0).shape, &w = b.in(1).shape, &y = b.out(0).shape;
  Batch batch;
  Gemm& g = batch.first;
  g.n = y.back(), g.k = ta ? x[x.size() - 2] : x.back();
  g.m = y.size() < 2 ? 1 : y[y.size() - 2];
  if (w.size() == 2 && !ta) {  // all leading axes of x are rows
    g.m = 1;
    for (size_t i = 0; i + 1 < y.size(); ++i) g.m *= y[i];
  } else {
    for (size_t i = 0; i + 2 < y.size(); ++i) batch.count *= y[i];
  }
  g.a = {nullptr, x.back(), ta, b.in(0).dtype};
  g.b = {nullptr, w.back(), tb, b.in(1).dtype};
  g.c_stride = g.n, g.c_dtype = b.out(0).dtype;
  g.compute = static_cast<DType>(b.node.integer("compute"));
  g.accumulate = b.has(3);
  const auto bytes = [](int64_t rows, int64_t columns, DType type) {
    return rows * columns * static_cast<int64_t>(size_of(type));
  };
  batch.step_a = bytes(g.m, g.k, g.a.dtype), batch.step_b = bytes(g.k, g.n, g.b.dtype);
  batch.step_c = bytes(g.m, g.n, g.c_dtype);
  return batch;
}

Call prepare_product(const Binding& b) {
  const DType bias_dtype = b.has(2) ? b.in(2).dtype : DType::f32;
  return [batch = batch_of(b), bias_dtype, in = b.inputs, out = b.outputs[0]](const Addresses& at) {
    Batch one = batch;
    Gemm& g = one.first;
    g.a.data = at.get<void>(in[0]), g.b.data = at.get<void>(in[1]), g.c = at.get<void>(out);
    std::vector<float> wide;
    g.bias = at.get<float>(in[2]);
    if (g.bias != nullptr && bias_dtype == DType::bf16) {
      wide.resize(static_cast<size_t>(g.n));
      convert_here({at.get<void>(in[2]), bias_dtype}, wide.data(), DType::f32, g.n);
      g.bias = wide.data();
    }
    const void* start = at.get<void>(in[3]);
    if (start != nullptr && start != g.c) {
      std::memcpy(g.c, start, static_cast<size_t>(one.count * one.step_c));
    }
    one.run();
  };
}

bool takes_operands(const Node& node) {
  for (Tensor t : node.inputs) {
    if (t && !is_float(t.dtype())) return false;
  }
  return true;
}

// Linear and matmul stay whole until they become products.
const Lowering kLowerings[] = {{&kLinear, takes_operands, nullptr},
                               {&kMatmul, takes_operands, nullptr},
                               {&kProduct, takes_operands, prepare_product, {{0, 3}}}};

}  // namespace

std::span<const Lowering> matmul_lowerings() { return kLowerings; }

}  // namespace bertrain
