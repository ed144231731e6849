// A thread that sleeps until there is something to say, or the call is over.
#include "base/long_call.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace bertrain {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

LongCall::LongCall(std::string what, double first_seconds, double later_seconds) {
  try {
    teller_ = std::thread([this, what = std::move(what), first_seconds, later_seconds] {
      Clock::time_point start = Clock::now();
      double wait = first_seconds;
      std::unique_lock lock(mutex_);
      while (!over_.wait_for(lock, Seconds(wait), [this] { return is_over_; })) {
        log_line("{}: {:.0f} s so far", what, Seconds(Clock::now() - start).count());
        wait = later_seconds;
      }
    });
  } catch (const std::system_error&) {
    // The call itself needs no thread.
  }
}

LongCall::~LongCall() {
  {
    std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_one();
  if (teller_.joinable()) teller_.join();
}

}  // namespace bertrain
