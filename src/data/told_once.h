// What was said of the data, so that it is not said again each time that they are read: to sample
// them, to score them, in every pass.
#pragma once

#include <mutex>
#include <set>
#include <string>

namespace bertrain {

// Safe from many threads: one may read ahead while another evaluates.
class ToldOnce {
 public:
  // Whether nothing was said of it yet; from now on it was. `what`: a line, or a file's name.
  bool is_new(const std::string& what) {
    std::lock_guard<std::mutex> lock(mutex_);
    return said_.insert(what).second;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> said_;
};

}  // namespace bertrain
