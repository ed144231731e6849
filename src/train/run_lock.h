// The lock of a run directory: one job at a time, named by host and process.
#pragma once

#include <string>

namespace bertrain {

// Held from construction to destruction through the file `lock` in the directory. The kernel frees
// the lock of a process that died, so a stale file of this host is taken over (and said); a file
// left by another host cannot be judged from here and is refused. Throws Error that names the
// owner's host and pid and the way out.
class RunLock {
 public:
  explicit RunLock(const std::string& directory);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace bertrain
