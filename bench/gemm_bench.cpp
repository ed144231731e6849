// Times the matrix product on the shapes of BERT training, as a share of what the multipliers give
// at that moment. Usage: gemm_bench [f32|bf16 [WIDTH]]; the width of the model, all if absent.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "backend/cpu/kernels/gemm.h"
#include "backend/cpu/kernels/huge_buffer.h"
#include "backend/cpu/kernels/peak.h"

namespace bertrain {
namespace {

double seconds_of(const Gemm& g) {
  const double start = wall_seconds();
  gemm(g);
  return wall_seconds() - start;
}

// The best share of the burst peak over some repetitions; those that began or ended in a slow spell
// do not count.
void report(std::string_view name, const Gemm& g, double scale) {
  double best = 0, speed = 0;
  for (int repetition = 0; repetition < 12; ++repetition) {
    const double before = fma_burst(0.003);
    const double seconds = seconds_of(g);
    const double after = fma_burst(0.003);
    if (std::min(before, after) < 0.93 * std::max(before, after)) continue;
    const double flops = 2.0 * static_cast<double>(g.m * g.n) * static_cast<double>(g.k) / seconds;
    if (flops / std::max(before, after) / scale > best) {
      best = flops / std::max(before, after) / scale, speed = flops;
    }
  }
  fmt::print("{:>10} {:>6} {:>6} {:>6} {:>8.1f} GFLOP/s {:>6.1f} %\n", name, g.m, g.n, g.k,
             speed / 1e9, 100 * best);
}

void run(bool bf16, int64_t width) {
  struct Layer {
    int64_t tokens, in, out;
  };
  const Layer layers[] = {{2048, 768, 2304}, {2048, 768, 768}, {2048, 768, 3072}, {2048, 3072, 768},
                          {4096, 256, 768},  {4096, 256, 256}, {4096, 256, 1024}, {4096, 1024, 256},
                          {4096, 128, 128},  {4096, 128, 512}, {4096, 512, 128},  {320, 768, 30522},
                          {640, 256, 30522}, {640, 128, 30522}};
  const DType type = bf16 ? DType::bf16 : DType::f32;
  const double scale = bf16 ? 2 : 1;
  for (const Layer& l : layers) {
    if (width != 0 && std::min(l.in, l.out) != width) continue;
    const size_t most =
        static_cast<size_t>(std::max({l.tokens * l.in, l.tokens * l.out, l.in * l.out}));
    HugeBuffer x(most * 4), y(most * 4), w(most * 4);
    std::memset(x.data(), 0, x.size()), std::memset(y.data(), 0, y.size());
    std::memset(w.data(), 0, w.size());
    const bool vocabulary = l.out > 30000;  // its weights are stored [out, in]
    Gemm g{l.tokens, l.out, l.in, {x.data(), l.in, false, type}, {w.data(), l.out, false, type}};
    if (vocabulary) g.b = {w.data(), l.in, true, type};
    g.c = y.data(), g.c_stride = l.out, g.compute = type, g.c_dtype = type;
    report("forward", g, scale);
    g = {l.tokens, l.in, l.out, {y.data(), l.out, false, type}, {w.data(), l.out, true, type}};
    if (vocabulary) g.b = {w.data(), l.in, false, type};
    g.c = x.data(), g.c_stride = l.in, g.compute = type, g.c_dtype = type;
    report("d-input", g, scale);
    g = {l.in, l.out, l.tokens, {x.data(), l.in, true, type}, {y.data(), l.out, false, type}};
    g.c = w.data(), g.c_stride = l.out, g.compute = type;
    if (vocabulary) {
      g.m = l.out, g.n = l.in, g.c_stride = l.in;
      g.a = {y.data(), l.out, true, type}, g.b = {x.data(), l.in, false, type};
    }
    report("d-weight", g, scale);
  }
}

}  // namespace
}  // namespace bertrain

int main(int argc, char** argv) {
  bertrain::run(argc > 1 && !std::strcmp(argv[1], "bf16"), argc > 2 ? std::atoll(argv[2]) : 0);
}
