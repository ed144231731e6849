// Exceptions of parallel regions: one that leaves such a region would end the process.
#pragma once

#include <exception>
#include <mutex>

namespace bertrain {

// Each thread does its work inside run(); after the region rethrow() throws what was caught first.
class FirstFailure {
 public:
  template <class F>
  void run(const F& work) noexcept {
    try {
      work();
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
  // Whether there is one: the same for all threads only after a barrier.
  bool any() {
    std::lock_guard lock(mutex_);
    return failure_ != nullptr;
  }
  void rethrow() {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace bertrain
