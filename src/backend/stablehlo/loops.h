// A loop as text: a `while` over the turns, or every turn at once where nothing goes from one to
// the next.
#pragma once

#include "backend/stablehlo/places.h"

namespace bertrain {

void write_loop(const Rolled& rolled, size_t loop, int64_t replicas, Places& places);

}  // namespace bertrain
