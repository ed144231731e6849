// Blocking of the matrix product: what is packed when, and which thread multiplies what.
//
// K is cut into blocks of steps, N into blocks whose packed panels of B stay in the shared cache, M
// into blocks of packed A. All threads pack together, then take units (rows of A that fit the
// private cache × one panel of B). Nothing splits a sum over K between threads, so who takes which
// unit does not matter.
#include "backend/cpu/kernels/gemm.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/kernels/gemm_kernel.h"
#include "backend/cpu/kernels/huge_buffer.h"
#include "base/error.h"

namespace bertrain {
namespace {

constexpr int64_t kMaxSteps = 1536;                // per block of K: 196 KB of a 32-column panel
constexpr int64_t kPackedB = int64_t{8} << 20;     // bytes of B packed at one time
constexpr int64_t kPackedA = int64_t{4} << 20;     // bytes of A packed at one time
constexpr int64_t kPrivateA = int64_t{384} << 10;  // bytes of A that one unit works on

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The largest multiple of `tile` whose `bytes` per element fit the limit, at least one tile, at
// most what is needed.
int64_t block(int64_t limit, int64_t bytes, int64_t tile, int64_t needed) {
  const int64_t fitting = std::max(limit / bytes / tile, int64_t{1});
  const int64_t wanted = ceil_div(needed, tile);
  return std::min(fitting, wanted) * tile;
}

const std::byte* at(const GemmOperand& x, int64_t row, int64_t column) {
  return static_cast<const std::byte*>(x.data) +
         (row * x.stride + column) * static_cast<int64_t>(size_of(x.dtype));
}

// One product with its block sizes and packed buffers.
struct Plan {
  const Gemm& g;
  const GemmKernel& kernel;
  int64_t depth;         // elements of K in one block
  int64_t stride;        // units between rows of packed row-major A
  int64_t nc, mc, unit;  // columns of packed B, rows of packed A, rows of a unit
  float *packed_a, *packed_b, *bias;

  Plan(const Gemm& gemm, const GemmKernel& k) : g(gemm), kernel(k) {
    const int64_t steps = gemm_steps(kernel, g.k);
    const int64_t block_steps = ceil_div(steps, ceil_div(steps, kMaxSteps));
    depth = block_steps * kernel.pair;
    // Rows an odd number of cache lines apart do not crowd one set of the cache.
    stride = g.a.transposed ? block_steps : ceil_div(block_steps, 32) * 32 + 16;
    nc = block(kPackedB, block_steps * 4, kernel.columns, g.n);
    mc = block(kPackedA, stride * 4, kernel.rows, g.m);
    unit = block(kPrivateA, stride * 4, kernel.rows, mc);
    packed_a = scratch_of<float>(Scratch::gemm_a, static_cast<size_t>(mc * stride));
    packed_b = scratch_of<float>(Scratch::gemm_b, static_cast<size_t>(nc * block_steps));
    bias = nullptr;
    if (g.bias != nullptr) {
      const int64_t padded = ceil_div(g.n, kernel.columns) * kernel.columns;
      bias = scratch_of<float>(Scratch::gemm_bias, static_cast<size_t>(padded));
      std::copy(g.bias, g.bias + g.n, bias);
      std::fill(bias + g.n, bias + padded, 0.0F);
    }
  }

  void pack_b(int64_t k0, int64_t kd, int64_t j0, int64_t columns) const {
    float* to = packed_b + (j0 % nc) * gemm_steps(kernel, kd);
    const GemmOperand& b = g.b;
    if (b.transposed) {
      kernel.pack_transposed(at(b, j0, k0), b.dtype, b.stride, kd, columns, kernel.columns, to);
    } else {
      kernel.pack_strip(at(b, k0, j0), b.dtype, b.stride, kd, columns, kernel.columns, to);
    }
  }

  void pack_a(int64_t k0, int64_t kd, int64_t i0, int64_t rows) const {
    const GemmOperand& a = g.a;
    if (a.transposed) {
      float* to = packed_a + (i0 % mc) * gemm_steps(kernel, kd);
      kernel.pack_strip(at(a, k0, i0), a.dtype, a.stride, kd, rows, kernel.rows, to);
    } else {
      kernel.pack_rows(at(a, i0, k0), a.dtype, a.stride, rows, kd, packed_a + (i0 % mc) * stride,
                       stride);
    }
  }

  void multiply(int64_t k0, int64_t kd, int64_t i0, int64_t rows, int64_t j0,
                int64_t columns) const {
    GemmTiles t;
    const int64_t steps = gemm_steps(kernel, kd);
    t.a_step_major = g.a.transposed;
    t.a = packed_a + (i0 % mc) * (t.a_step_major ? steps : stride);
    t.a_stride = t.a_step_major ? kernel.rows : stride;
    t.a_panel = kernel.rows * (t.a_step_major ? steps : stride);
    t.b = packed_b + (j0 % nc) * steps;
    t.rows = rows, t.columns = columns, t.steps = steps;
    t.c_stride = g.c_stride;
    t.c_bf16 = g.c_dtype == DType::bf16;
    t.c = static_cast<std::byte*>(g.c) +
          (i0 * g.c_stride + j0) * static_cast<int64_t>(size_of(g.c_dtype));
    t.accumulate = g.accumulate || k0 > 0;
    t.bias = bias != nullptr && k0 == 0 ? bias + j0 : nullptr;
    kernel.tiles(t);
  }

  // Run by every thread of a team.
  void run() const {
    const int64_t tile_rows = kernel.rows, tile_columns = kernel.columns;
    for (int64_t k0 = 0; k0 < g.k; k0 += depth) {
      const int64_t kd = std::min(depth, g.k - k0);
      for (int64_t j0 = 0; j0 < g.n; j0 += nc) {
        const int64_t j1 = std::min(j0 + nc, g.n);
#pragma omp for schedule(static) nowait
        for (int64_t j = j0; j < j1; j += tile_columns) {
          pack_b(k0, kd, j, std::min(tile_columns, j1 - j));
        }
        for (int64_t i0 = 0; i0 < g.m; i0 += mc) {
          const int64_t i1 = std::min(i0 + mc, g.m);
          // All of A may still be there from the columns before.
          const bool packed = j0 > 0 && g.m <= mc;
          const int64_t pack_end = packed ? i0 : i1;
#pragma omp for schedule(static)
          for (int64_t i = i0; i < pack_end; i += tile_rows) {
            pack_a(k0, kd, i, std::min(tile_rows, i1 - i));
          }
          const int64_t panels = ceil_div(j1 - j0, tile_columns);
          const int64_t units = ceil_div(i1 - i0, unit) * panels;
#pragma omp for schedule(dynamic)
          for (int64_t u = 0; u < units; ++u) {
            const int64_t i = i0 + u / panels * unit, j = j0 + u % panels * tile_columns;
            multiply(k0, kd, i, std::min(unit, i1 - i), j, std::min(tile_columns, j1 - j));
          }
        }
      }
    }
  }
};

// C = bias, or 0, or unchanged: what is left when there is nothing to sum.
void fill(const Gemm& g) {
  if (g.accumulate && g.bias == nullptr) return;
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j = 0; j < g.n; ++j) {
      const float value = g.bias != nullptr ? g.bias[j] : 0.0F;
      const int64_t index = i * g.c_stride + j;
      if (g.c_dtype == DType::bf16) {
        static_cast<uint16_t*>(g.c)[index] = f32_to_bf16(value);
      } else {
        float& c = static_cast<float*>(g.c)[index];
        c = g.accumulate ? c + value : value;
      }
    }
  }
}

// A bf16 copy of an f32 operand, where the kernel itself does not round.
GemmOperand rounded(const GemmOperand& x, int64_t rows, int64_t columns, HugeBuffer& copy) {
  if (x.dtype == DType::bf16) return x;
  copy = HugeBuffer(static_cast<size_t>(rows * columns) * 2);
  for (int64_t i = 0; i < rows; ++i) {
    const float* from = static_cast<const float*>(x.data) + i * x.stride;
    for (int64_t j = 0; j < columns; ++j) {
      copy.as<uint16_t>()[i * columns + j] = f32_to_bf16(from[j]);
    }
  }
  return {copy.data(), columns, x.transposed, DType::bf16};
}

void run(const Gemm& g, bool parallel) {
  check(!(g.accumulate && g.c_dtype == DType::bf16), "gemm adds only to f32");
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0) return fill(g);
  const GemmKernel* kernel = g.compute == DType::bf16 ? gemm_kernel_bf16() : &gemm_kernel_f32();
  if (kernel == nullptr) {
    HugeBuffer a, b;
    Gemm same = g;
    same.compute = DType::f32;
    same.a = g.a.transposed ? rounded(g.a, g.k, g.m, a) : rounded(g.a, g.m, g.k, a);
    same.b = g.b.transposed ? rounded(g.b, g.n, g.k, b) : rounded(g.b, g.k, g.n, b);
    return run(same, parallel);
  }
  if (g.c_dtype == DType::bf16 && gemm_steps(*kernel, g.k) > kMaxSteps) {
    // Sums of several blocks of K are kept in f32 and rounded once.
    HugeBuffer sums(static_cast<size_t>(g.m * g.n) * sizeof(float));
    Gemm wide = g;
    wide.c = sums.data(), wide.c_stride = g.n, wide.c_dtype = DType::f32;
    run(wide, parallel);
    for (int64_t i = 0; i < g.m; ++i) {
      uint16_t* to = static_cast<uint16_t*>(g.c) + i * g.c_stride;
      for (int64_t j = 0; j < g.n; ++j) to[j] = f32_to_bf16(sums.as<float>()[i * g.n + j]);
    }
    return;
  }
  const Plan plan(g, *kernel);
#pragma omp parallel if (parallel)
  plan.run();
}

}  // namespace

void gemm(const Gemm& g) { run(g, true); }
void gemm_here(const Gemm& g) { run(g, false); }
bool has_bf16_dot() { return gemm_kernel_bf16() != nullptr; }

}  // namespace bertrain
