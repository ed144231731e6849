// Says that a call takes long, while it lasts: a compiler may be silent for minutes.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace bertrain {

// Lives as long as the call. Logs "WHAT: N s so far" after some seconds, and then again and again;
// nothing where there is no thread to be had.
class LongCall {
 public:
  explicit LongCall(std::string what, double first_seconds = 5, double later_seconds = 30);
  ~LongCall();
  LongCall(const LongCall&) = delete;
  LongCall& operator=(const LongCall&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread teller_;  // last: reads the others
};

}  // namespace bertrain
