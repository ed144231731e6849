// What this process may use of the machine: processors and memory, as the cgroup and the affinity
// mask allow; and the machine's name.
#pragma once

#include <cstdint>
#include <string>

namespace bertrain {

// Processors that can run at once: the affinity mask, cut to the CPU quota of the cgroup (rounded
// up) and of every cgroup above it. At least 1.
int usable_threads();

// Sets how many threads the parallel loops of this thread use, and returns it: as many as asked for, or for 0
// usable_threads(), and OMP_NUM_THREADS where that is less. OpenMP's own default knows no quota, and a thread that is made later begins
// with that default again: it is given loop_threads() of its maker.
int use_threads(int64_t asked);
int loop_threads();

// Bytes of memory: the machine's, or the smallest limit of the cgroup and of those above it.
uint64_t usable_memory();

// The most memory that this process has held so far, in bytes.
uint64_t peak_memory();

// The memory that this process holds now, in bytes; 0 where the system does not say.
uint64_t resident_memory();

// As other processes of the machine are told it; "localhost" where the system has none. A container
// has one of its own, another one after each start.
std::string host_name();

// The same from files under another root, for tests: `root` holds proc/ and sys/.
int cgroup_cpu_limit(const std::string& root);          // 0: none
uint64_t cgroup_memory_limit(const std::string& root);  // 0: none

}  // namespace bertrain
