// An flock on a file that names its owner.
#include "train/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"

namespace bertrain {
namespace {

struct Owner {
  std::string host;
  int64_t pid = 0;
};

// An empty or damaged file is that of an owner who died while writing it: no host.
Owner read_owner(int file) {
  std::array<char, 1024> text{};
  ssize_t count = pread(file, text.data(), text.size() - 1, 0);
  Json json = Json::parse(std::string(text.data(), count > 0 ? static_cast<size_t>(count) : 0),
                          nullptr, false);
  if (!json.is_object()) return {};
  Owner owner;
  if (auto host = json.find("host"); host != json.end() && host->is_string()) owner.host = *host;
  if (auto pid = json.find("pid"); pid != json.end() && pid->is_number_integer()) owner.pid = *pid;
  return owner;
}

void write_owner(int file, const std::string& path, const std::string& host) {
  std::string text = Json{{"host", host}, {"pid", getpid()}}.dump() + "\n";
  if (ftruncate(file, 0) != 0 ||
      pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    throw error("{}: writing the lock: {}", path, std::strerror(errno));
  }
}

bool is_locked_for_all(int file) {
  struct statfs facts = {};
  return fstatfs(file, &facts) == 0 && flock_is_known_to_all(static_cast<int64_t>(facts.f_type));
}

// The file that is locked must still be the one at the path: its owner removes it when done, and a
// lock on a removed file excludes nobody.
bool is_at(int file, const std::string& path) {
  struct stat held = {}, there = {};
  return fstat(file, &held) == 0 && stat(path.c_str(), &there) == 0 &&
         held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

}  // namespace

bool flock_is_known_to_all(int64_t file_system) {
  // From linux/magic.h and the sources of file systems that are not in it. First those of one machine's
  // disks, then those that take locks to their servers.
  constexpr int64_t kKnown[] = {0xEF53,     0x58465342, 0x9123683E, 0xF2F52010, 0x2FC12FC1,
                                0x01021994, 0x794C7630, 0x858458F6, 0xCA451A4E,  //
                                0x6969,     0x00C36400, 0x47504653};
  return std::find(std::begin(kKnown), std::end(kKnown), file_system) != std::end(kKnown);
}

RunLock::RunLock(const std::string& directory) : path_(directory + "/lock") {
  std::string host = host_name();
  while (true) {
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) throw error("{}: {}", path_, std::strerror(errno));
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      int code = errno;
      Owner owner = read_owner(file_);
      close(file_);
      if (code != EWOULDBLOCK) throw error("{}: locking: {}", path_, std::strerror(code));
      throw error(
          "{} is in use by process {} on host {}; wait for it, stop it, or use another "
          "--output_dir",
          directory, owner.pid, owner.host.empty() ? "unknown" : owner.host);
    }
    if (is_at(file_, path_)) break;
    close(file_);
  }
  Owner owner = read_owner(file_);
  if (!owner.host.empty() && owner.host != host && !is_locked_for_all(file_)) {
    close(file_);
    throw error(
        "{} may be in use by process {} on host {}: on a file system of this kind that cannot be "
        "told from here; if that job is dead, remove {}",
        directory, owner.pid, owner.host, path_);
  }
  if (!owner.host.empty()) {
    log_line("{}: taking over the lock of process {} on host {}, which ended without finishing",
             directory, owner.pid, owner.host);
  }
  try {
    write_owner(file_, path_, host);
  } catch (...) {
    unlink(path_.c_str());  // it names nobody
    close(file_);
    throw;
  }
}

RunLock::~RunLock() {
  unlink(path_.c_str());
  close(file_);
}

}  // namespace bertrain
