// Numbers too small to be normal count as zero: on many CPUs each costs a hundred cycles.
#pragma once

namespace bertrain {

// In all OpenMP threads of the calling thread; the setting is per thread, and stays.
void flush_denormals();

}  // namespace bertrain
