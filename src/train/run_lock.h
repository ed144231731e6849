// The lock of a run directory: one job at a time, named by host and process.
#pragma once

#include <string>

namespace bertrain {

// Held from construction to destruction by an flock on the file `lock` in the directory. The kernel
// (for NFS the server) frees the lock of a process or machine that died, so who gets it is the owner:
// a file that was left behind is taken over and this is said, whatever host it names, since a
// preempted container comes back under another name. NFS counts as shared: Linux turns flock into a
// lock on the server, unless the mount says `nolock` or `local_lock`. On FUSE and 9p, where an flock
// usually holds on one machine only, a file of another host is refused until it is removed.
// Throws Error that names the owner's host and pid and the way out.
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
