// How fast the multipliers run right now: a burst of register-only products, to which timings are
// compared.
#pragma once

namespace bertrain {

// Seconds that this process computed, per OpenMP thread: other processes do not count, waiting for
// each other does as long as OpenMP waits actively.
double thread_seconds();

// FLOP/s of all OpenMP threads together in f32 over about `seconds`, by that clock. On virtual
// machines this can halve for a while without any other sign, so measure before and after what is
// timed.
double fma_burst(double seconds);

}  // namespace bertrain
