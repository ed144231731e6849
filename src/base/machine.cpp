// Limits from /proc and /sys/fs/cgroup, versions 1 and 2.
#include "base/machine.h"

#include <omp.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

namespace bertrain {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc()) return std::nullopt;  // "max"
  return value;
}

// The folders of our cgroup for a controller, from our own up to the hierarchy's root. A container
// may show a path that it cannot see; the root it can see then still holds its limits.
std::vector<std::string> cgroup_folders(const std::string& root, const std::string& controller) {
  std::ifstream in(root + "/proc/self/cgroup");
  std::string line, path = "/", mount = root + "/sys/fs/cgroup";
  while (std::getline(in, line)) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    bool version1 = controllers.find("," + controller + ",") != std::string::npos;
    if (!version1 && controllers != ",,") continue;
    path = line.substr(second + 1);
    if (version1) {
      mount += "/" + controller;
      break;  // a controller bound to version 1 has no limits in version 2
    }
  }
  std::vector<std::string> folders;
  while (true) {
    folders.push_back(mount + path);
    size_t slash = path.rfind('/');
    if (path.size() <= 1 || slash == std::string::npos) break;
    path = slash == 0 ? "/" : path.substr(0, slash);
  }
  return folders;
}

template <class T>
void lower(T& limit, T value) {
  if (value > 0 && (limit == 0 || value < limit)) limit = value;
}

}  // namespace

int cgroup_cpu_limit(const std::string& root) {
  int limit = 0;
  auto quota_of = [&](std::optional<int64_t> quota, std::optional<int64_t> period) {
    if (!quota || !period || *quota <= 0 || *period <= 0) return;
    lower(limit, static_cast<int>(std::min<int64_t>((*quota + *period - 1) / *period, 1 << 20)));
  };
  for (const std::string& folder : cgroup_folders(root, "cpu")) {
    std::istringstream both(first_line(folder + "/cpu.max"));  // "200000 100000"
    std::string quota, period;
    both >> quota >> period;
    quota_of(whole_number(quota), whole_number(period));
    quota_of(whole_number(first_line(folder + "/cpu.cfs_quota_us")),
             whole_number(first_line(folder + "/cpu.cfs_period_us")));
  }
  return limit;
}

uint64_t cgroup_memory_limit(const std::string& root) {
  uint64_t limit = 0;
  for (const std::string& folder : cgroup_folders(root, "memory")) {
    for (const char* file : {"/memory.max", "/memory.limit_in_bytes"}) {
      std::optional<int64_t> bytes = whole_number(first_line(folder + file));
      if (bytes && *bytes > 0) lower(limit, static_cast<uint64_t>(*bytes));
    }
  }
  return limit;
}

int usable_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int count = sched_getaffinity(0, sizeof set, &set) == 0
                  ? CPU_COUNT(&set)
                  : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  // OMP_PROC_BIND narrows this thread's mask to one processor; OpenMP remembers what it was.
  if (omp_get_proc_bind() != omp_proc_bind_false) count = std::max(count, omp_get_num_procs());
  int limit = cgroup_cpu_limit("");
  return std::max(1, limit > 0 ? std::min(limit, count) : count);
}

int use_threads(int64_t asked) {
  int count = asked > 0 ? static_cast<int>(asked) : usable_threads();
  if (const char* wanted = std::getenv("OMP_NUM_THREADS"); wanted && asked <= 0) {
    // A list has a number for each level of nesting; the first is meant.
    int64_t most = whole_number(wanted).value_or(0);
    if (most > 0) count = static_cast<int>(std::min<int64_t>(most, count));
  }
  omp_set_num_threads(count);
  return count;
}

int loop_threads() { return omp_get_max_threads(); }

uint64_t usable_memory() {
  auto bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t limit = cgroup_memory_limit("");
  return limit > 0 ? std::min(limit, bytes) : bytes;
}

uint64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

uint64_t resident_memory() {
  std::ifstream statm("/proc/self/statm");  // in pages: all that is mapped, what is resident, …
  uint64_t mapped = 0, resident = 0;
  if (!(statm >> mapped >> resident)) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

}  // namespace bertrain
