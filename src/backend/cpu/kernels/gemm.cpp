// Blocking of the matrix product: what is packed when, and which thread multiplies what.
//
// K is cut into one or two parts, depending on the shape alone; each part has its own sums, which
// are added at the end. A part is cut into blocks of steps, N into blocks whose packed panels of B
// stay in the shared cache. For each block the threads pack B, then multiply their units: some rows
// of C with some of the columns. Who has a unit packs its rows of A into private memory.
//
// Each thread always has the same part of the tokens, as in all other kernels (parallel.h), because
// what another core wrote last is slow to read.
#include "backend/cpu/kernels/gemm.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "backend/cpu/kernels/elementwise.h"
#include "backend/cpu/kernels/gemm_kernel.h"
#include "backend/cpu/kernels/huge_buffer.h"
#include "backend/cpu/kernels/parallel.h"
#include "base/error.h"
#include "base/first_failure.h"

namespace bertrain {
namespace {

// Steps in a block of K. Where A is transposed (gradients of weights), K is long and C mostly small:
// short blocks keep A and B in the private cache, and C is cheap to come back to.
constexpr int64_t kMaxSteps = 768, kMaxStepsTransposed = 384;
constexpr int64_t kMaxStepsRounded = 2048;        // where C is bf16, which cannot be added to
constexpr int64_t kPackedDepth = 64;              // elements of K that a thread packs at a time
constexpr int64_t kPackedB = int64_t{8} << 20;    // bytes of B packed at one time
constexpr int64_t kPackedA = int64_t{192} << 10;  // bytes of A packed by one unit
constexpr int64_t kUnitRows = 192;                // at most
constexpr int64_t kSplitK = 1024;                 // a part of K is at least this long
constexpr int64_t kSplitC = int64_t{1} << 22;     // and C has at most so many elements

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Two parts where the sums are long beside C: then each of two threads reads its own half of the
// tokens (or of the vocabulary), and nothing that the other one packed.
int64_t parts_of(const Gemm& g) {
  const bool long_sums = g.k >= 2 * kSplitK && (g.a.transposed || g.k >= 8 * std::max(g.m, g.n));
  return long_sums && g.m * g.n <= kSplitC ? 2 : 1;
}

int64_t block_steps_of(const Gemm& g, int64_t steps) {
  int64_t most = g.a.transposed && g.m * g.n <= kSplitC ? kMaxStepsTransposed : kMaxSteps;
  if (g.c_dtype == DType::bf16) most = kMaxStepsRounded;
  return ceil_div(steps, ceil_div(steps, most));
}

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

// A range cut into equal pieces of whole tiles.
struct Cut {
  int64_t size = 0, tile = 1, pieces = 1;
  int64_t begin(int64_t i) const {
    return std::min(size, ceil_div(size, tile) * i / pieces * tile);
  }
  int64_t end(int64_t i) const { return begin(i + 1); }
};

// One product with its block sizes and packed buffers.
struct Plan {
  Plan(const Gemm& gemm, const GemmKernel& k, int threads) : g(gemm), kernel(k) {
    parts = parts_of(g);
    part_depth = ceil_div(ceil_div(g.k, parts), kernel.pair) * kernel.pair;
    const int64_t steps = gemm_steps(kernel, part_depth);
    const int64_t block_steps = block_steps_of(g, steps);
    depth = block_steps * kernel.pair;
    // Rows an odd number of cache lines apart do not crowd one set of the cache.
    stride = g.a.transposed ? block_steps : ceil_div(block_steps, 32) * 32 + 16;
    nc = block(kPackedB / parts, block_steps * 4, kernel.columns, g.n);
    panel_b = block_steps * kernel.columns;

    const int64_t unit_rows = block(kPackedA, stride * 4, kernel.rows, std::min(g.m, kUnitRows));
    rows = {g.m, kernel.rows, ceil_div(g.m, unit_rows)};
    const int64_t row_tiles = ceil_div(g.m, kernel.rows);
    const int64_t column_tiles = ceil_div(std::min(nc, g.n), kernel.columns);
    const int64_t sharers = std::max<int64_t>(threads / parts, 1);  // threads to a part
    // By rows, every thread packs and reads all of B; by columns, all of A.
    const auto loss = [&](int64_t tiles) {
      return static_cast<double>(ceil_div(tiles, sharers) * sharers - tiles) /
             static_cast<double>(tiles);
    };
    by_columns = sharers > 1 && column_tiles >= sharers &&
                 (g.n >= 8 * g.m || loss(row_tiles) > loss(column_tiles) + 0.02);
    if (by_columns) column_pieces = sharers;
    // A multiple of the threads, so that they end together.
    if (!by_columns) rows.pieces = std::min(ceil_div(rows.pieces, sharers) * sharers, row_tiles);

    packed_a_size = static_cast<size_t>(ceil_div(unit_rows, kernel.rows) * kernel.rows * stride);
    packed_b = scratch_of<float>(Scratch::gemm_b, static_cast<size_t>(parts * nc * block_steps));
    if (parts > 1) {
      sums = scratch_of<float>(Scratch::gemm_c, static_cast<size_t>((parts - 1) * g.m * g.n));
    }
    if (g.bias != nullptr) {
      const int64_t padded = ceil_div(g.n, kernel.columns) * kernel.columns;
      bias = scratch_of<float>(Scratch::gemm_bias, static_cast<size_t>(padded));
      std::copy(g.bias, g.bias + g.n, bias);
      std::fill(bias + g.n, bias + padded, 0.0F);
    }
  }

  // Run by every thread of a team. A thread without memory still meets the others at the barrier
  // after B is packed, which needs none; there all of them stop.
  void run(FirstFailure& failure) const {
    float* packed_a = nullptr;
    failure.run([&] { packed_a = scratch_of<float>(Scratch::gemm_a, packed_a_size); });
    for (int64_t k = 0; k < part_depth; k += depth) {
      for (int64_t j0 = 0; j0 < g.n; j0 += nc) {
        const int64_t columns = std::min(nc, g.n - j0);
        const int64_t pieces = pieces_of_b(columns);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < parts * pieces; ++i) {
          pack_b(part(i / pieces, k), j0, columns, i % pieces);
        }
        if (failure.any()) return;
        const Cut cut{columns, kernel.columns, column_pieces};
        const int64_t units = rows.pieces * column_pieces;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < parts * units; ++i) {
          const int64_t u = i % units;
          const int64_t r = by_columns ? u % rows.pieces : u / column_pieces;
          const int64_t c = by_columns ? u / rows.pieces : u % column_pieces;
          multiply(part(i / units, k), r, j0, cut.begin(c), cut.end(c), packed_a);
        }
      }
    }
    if (parts > 1) add_parts();
  }

  struct Part {
    int64_t index, k, depth;  // depth 0: the part has no such block
  };
  Part part(int64_t index, int64_t k) const {
    const int64_t begin = index * part_depth + k;
    const int64_t end = std::min({begin + depth, (index + 1) * part_depth, g.k});
    return {index, begin, std::max<int64_t>(end - begin, 0)};
  }

  // Pieces of B that threads pack: panels where they multiply by columns or B is transposed, else
  // some steps of all columns, so that memory is read in order.
  bool packs_panels() const { return by_columns || g.b.transposed; }
  int64_t pieces_of_b(int64_t columns) const {
    return packs_panels() ? ceil_div(columns, kernel.columns) : ceil_div(depth, kPackedDepth);
  }
  void pack_b(const Part& p, int64_t j0, int64_t columns, int64_t piece) const {
    const GemmOperand& b = g.b;
    float* to = packed_b + p.index * nc * gemm_steps(kernel, depth);
    if (packs_panels()) {
      const int64_t j = piece * kernel.columns, count = std::min(kernel.columns, columns - j);
      to += piece * panel_b;
      if (b.transposed) {
        kernel.pack_transposed(at(b, j0 + j, p.k), b.dtype, b.stride, p.depth, count,
                               kernel.columns, to);
      } else {
        kernel.pack_strips(at(b, p.k, j0 + j), b.dtype, b.stride, p.depth, count, kernel.columns,
                           to, panel_b);
      }
      return;
    }
    const int64_t k = piece * kPackedDepth;
    if (k >= p.depth) return;
    kernel.pack_strips(at(b, p.k + k, j0), b.dtype, b.stride, std::min(kPackedDepth, p.depth - k),
                       columns, kernel.columns, to + gemm_steps(kernel, k) * kernel.columns,
                       panel_b);
  }

  void pack_a(const Part& p, int64_t i0, int64_t count, float* to) const {
    const GemmOperand& a = g.a;
    if (a.transposed) {
      kernel.pack_strips(at(a, p.k, i0), a.dtype, a.stride, p.depth, count, kernel.rows, to,
                         gemm_steps(kernel, p.depth) * kernel.rows);
    } else {
      kernel.pack_rows(at(a, i0, p.k), a.dtype, a.stride, count, p.depth, to, stride);
    }
  }

  // The rows of piece r times the columns j0 + c0 … j0 + c1 − 1.
  void multiply(const Part& p, int64_t r, int64_t j0, int64_t c0, int64_t c1,
                float* packed_a) const {
    const int64_t i0 = rows.begin(r), steps = gemm_steps(kernel, p.depth);
    GemmTiles t;
    t.rows = rows.end(r) - i0;
    if (t.rows == 0 || p.depth == 0) return;
    pack_a(p, i0, t.rows, packed_a);
    t.a = packed_a;
    t.a_step_major = g.a.transposed;
    t.a_stride = t.a_step_major ? kernel.rows : stride;
    t.a_panel = kernel.rows * (t.a_step_major ? steps : stride);
    t.steps = steps;
    const bool first_part = p.index == 0;
    t.c_stride = first_part ? g.c_stride : g.n;
    t.c_bf16 = first_part && g.c_dtype == DType::bf16;
    t.accumulate = (first_part && g.accumulate) || p.k > p.index * part_depth;
    std::byte* c = static_cast<std::byte*>(g.c);
    if (!first_part) c = reinterpret_cast<std::byte*>(sums + (p.index - 1) * g.m * g.n);
    const int64_t size = t.c_bf16 ? sizeof(uint16_t) : sizeof(float);
    for (int64_t j = c0; j < c1; j += kernel.columns) {
      t.columns = std::min(kernel.columns, c1 - j);
      t.b = packed_b + p.index * nc * gemm_steps(kernel, depth) + j / kernel.columns * panel_b;
      t.c = c + (i0 * t.c_stride + j0 + j) * size;
      t.bias = bias != nullptr && p.k == 0 ? bias + j0 + j : nullptr;
      kernel.tiles(t);
    }
  }

  void add_parts() const {
#pragma omp for schedule(static)
    for (int64_t i = 0; i < g.m; ++i) {
      float* c = static_cast<float*>(g.c) + i * g.c_stride;
      for (int64_t p = 0; p + 1 < parts; ++p) {
        const float* more = sums + (p * g.m + i) * g.n;
        for (int64_t j = 0; j < g.n; ++j) c[j] += more[j];
      }
    }
  }

  const Gemm& g;
  const GemmKernel& kernel;
  int64_t parts, part_depth;  // elements of K in a part
  int64_t depth;              // elements of K in a block
  int64_t stride;             // units between rows of packed row-major A
  int64_t nc, panel_b;        // columns of packed B; units of one of its panels
  Cut rows;                   // of C, into units
  int64_t column_pieces = 1;
  bool by_columns = false;
  size_t packed_a_size;
  float *packed_b, *sums = nullptr, *bias = nullptr;
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
  const bool rounded_once = gemm_steps(*kernel, g.k) <= kMaxStepsRounded && parts_of(g) == 1;
  if (g.c_dtype == DType::bf16 && !rounded_once) {
    // Sums of several blocks of K are kept in f32 and rounded at the end.
    float* sums = scratch_of<float>(Scratch::gemm_wide, static_cast<size_t>(g.m * g.n));
    Gemm wide = g;
    wide.c = sums, wide.c_stride = g.n, wide.c_dtype = DType::f32;
    run(wide, parallel);
    const auto round = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        convert_here({sums + i * g.n}, static_cast<uint16_t*>(g.c) + i * g.c_stride, DType::bf16,
                     g.n);
      }
    };
    parallel ? parallel_chunks(g.m, 16, round) : round(0, g.m);
    return;
  }
  const Plan plan(g, *kernel, parallel ? omp_get_max_threads() : 1);
  FirstFailure failure;
#pragma omp parallel if (parallel)
  plan.run(failure);
  failure.rethrow();
}

}  // namespace

void gemm(const Gemm& g) { run(g, true); }
void gemm_here(const Gemm& g) { run(g, false); }
bool has_bf16_dot() { return gemm_kernel_bf16() != nullptr; }

}  // namespace bertrain
