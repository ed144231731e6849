// Which rows of a table are held out, and which of the others are trained on.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/rng.h"

namespace bertrain {

// One choice is independent of another.
enum class Draw : uint32_t { held_out = 0, trained = 1 };

// Whether a row is in a share of all: a function of its text alone, so that it does not move when rows
// are added, and equal texts are never on both sides.
inline bool is_in_share(std::string_view text, double share, Draw draw) {
  constexpr uint64_t kParts = 1'000'000;
  uint64_t part = below(key_of(0, text, static_cast<uint32_t>(draw)), 0, kParts);
  return static_cast<double>(part) < share * static_cast<double>(kParts);
}

}  // namespace bertrain
