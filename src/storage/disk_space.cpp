// Free space by statvfs.
#include "storage/disk_space.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace bertrain {

uint64_t free_bytes(const std::string& folder) {
  struct statvfs facts = {};
  if (statvfs(folder.c_str(), &facts) != 0) throw error("{}: {}", folder, std::strerror(errno));
  return static_cast<uint64_t>(facts.f_bavail) * facts.f_frsize;
}

void require_space(const std::string& folder, uint64_t bytes, std::string_view what_for) {
  uint64_t free = free_bytes(folder);
  if (free >= bytes) return;
  throw error("{}: {} ({} bytes) needed for {}, {} ({} bytes) free", folder, readable_bytes(bytes),
              bytes, what_for, readable_bytes(free), free);
}

std::string readable_bytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

}  // namespace bertrain
