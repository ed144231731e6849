// The lock of a run directory: one job at a time, named by host and process.
#pragma once

#include <cstdint>
#include <string>

namespace bertrain {

// Whether an flock on a file system of that kind (statfs(2), f_type) is seen by every machine that sees
// the files. True where that is known; FUSE, 9p, Lustre, BeeGFS and SMB may lock on one machine only.
bool flock_is_known_to_all(int64_t file_system);

// Held from construction to destruction by an flock on the file `lock` in the directory. The kernel
// (for NFS the server) frees the lock of a process or machine that died, so who gets it is the owner:
// a file that was left behind is taken over and this is said, whatever host it names, since a
// preempted container comes back under another name. NFS counts as shared: Linux turns flock into a
// lock on the server, unless the mount says `nolock` or `local_lock`. On a file system of which
// flock_is_known_to_all() says nothing a file of another host is refused until it is removed.
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
