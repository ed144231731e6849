// How often something recurs in a run: every so many steps, epochs or seconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bertrain {

struct Cadence {
  enum Unit { never, steps, epochs, seconds } unit = never;
  double every = 0;  // > 0 unless never
};

// "500" or "500steps", "1epoch" or "0.5epochs", "30s", "10m", "2h"; "never", or 0 of any unit. Anything else
// is a usage error that names the flag.
Cadence parse_cadence(std::string_view flag, std::string_view text);
std::string to_string(const Cadence& cadence);

// Whether a run that has just done step number `step` (from 1) is due. `steps_per_epoch` is used by
// epochs only, `seconds` (since the last time, or the start) by seconds only. Steps and epochs
// depend on the step's number alone, so that a resumed run is due at the same steps.
bool due(const Cadence& cadence, int64_t step, double steps_per_epoch, double seconds);

// How often a run of so many steps is due at most; by time nobody knows: after each step.
int64_t most_times(const Cadence& cadence, int64_t steps, double steps_per_epoch);

}  // namespace bertrain
