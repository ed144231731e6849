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

// Draws the rows of a file to train on, and says what became of them.
class RowDraw {
 public:
  enum class Part { held_out, trained, left_out };

  // `row`: what one is called ("row", "sentence"); `held_out` (0: none) is --dev_fraction, `trained`, of
  // the others, --train_fraction.
  RowDraw(std::string file, std::string row, double held_out, double trained);
  Part part_of(std::string_view text);  // counts it

  // When all are drawn: logs how many are left out. Throws Error where there was no row, and a usage error
  // where none is left to train on.
  void require_rows() const;
  // Logs how many are held out; warns where a share was to be, and no row is.
  void report_held_out() const;

 private:
  std::string file_, row_;
  double held_out_share_, trained_share_;
  uint64_t held_out_ = 0, trained_ = 0, left_out_ = 0;
};

}  // namespace bertrain
