// Loops over fixed chunks of a range by the OpenMP threads: what a chunk is never depends on how
// many threads there are, so that sums built from chunks do not either.
#pragma once

#include <cstdint>

namespace bertrain {

inline int64_t chunk_count(int64_t count, int64_t chunk) { return (count + chunk - 1) / chunk; }

// f(begin, end) for every chunk of 0 … count − 1; f must not throw. Runs in the calling thread when
// there is only one chunk.
template <class F>
void parallel_chunks(int64_t count, int64_t chunk, const F& f) {
  const int64_t chunks = chunk_count(count, chunk);
  if (chunks <= 1) {
    if (count > 0) f(int64_t{0}, count);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t begin = i * chunk;
    f(begin, begin + chunk < count ? begin + chunk : count);
  }
}

}  // namespace bertrain
