// A random order of a stream that any position can be resumed in without reading what came before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/streams.h"

namespace bertrain {

// The order is a function of (seed, pass, buffer) and of the number of examples alone. Up to
// `buffer` examples are permuted whole. A longer stream is cut into blocks of `buffer`, each
// permuted; the first block has a random length from 1 to `buffer`, so that the neighbours of an
// example differ from pass to pass. Blocks, and not a sliding buffer, because a resume then skips
// to its block and needs none of what came before. buffer 1 keeps the stream's order. `from` must
// be at its start.
ExampleStream shuffle(ExampleStream from, uint64_t buffer, uint64_t seed, uint64_t pass);

// An order of `count` files, a function of the arguments alone: in which a pass reads them, so that
// a buffer that is small against the data still mixes what lies far apart.
std::vector<size_t> file_order(size_t count, uint64_t seed, uint64_t pass);

}  // namespace bertrain
