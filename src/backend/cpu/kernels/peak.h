// How fast the multipliers run right now: a burst of register-only products, to which timings are
// compared.
#pragma once

namespace bertrain {

// Seconds of a clock that only goes forward. Not processor time: a thread that sleeps or is kept from
// running would count for less than it costs, and the best of several runs would be the worst
// measured one.
double wall_seconds();

// FLOP/s of all OpenMP threads together in f32 over about `seconds`. On virtual machines this can
// halve for a while without any other sign, and other processes lower it: measure before and after
// what is timed, and throw away what began or ended slower.
double fma_burst(double seconds);

}  // namespace bertrain
