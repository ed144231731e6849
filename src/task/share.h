// Which rows of a table are held out, and which of the others are trained on.
#pragma once

#include <cstdint>
#include <string>
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

// A file's rows as they were drawn.
struct DrawnRows {
  std::string file, row;  // row: what one is called
  double dev_fraction = 0, train_fraction = 1;
  uint64_t trained = 0, held_out = 0, left_out = 0;
};

// Logs how many are left out. Throws a usage error where none is left to train on.
void require_trained_rows(const DrawnRows& drawn);
// Logs how many are held out, where some were to be; where none is, a warning.
void report_held_out(const DrawnRows& drawn);

}  // namespace bertrain
