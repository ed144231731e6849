// The handlers of SIGTERM, SIGINT and SIGHUP.
#include "train/signals.h"

#include <atomic>
#include <csignal>

#include "base/error.h"

namespace bertrain {
namespace {

// Set by a handler and read by every thread: of the types that both may share, the one that is also
// seen by other threads in order.
std::atomic<int> request = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a handler must not wait for a lock");
struct sigaction before_term, before_int, before_hangup;
bool alive = false;

extern "C" void on_signal(int number) {
  if (request != 0 && number == SIGINT) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  request = number;
}

}  // namespace

StopSignals::StopSignals() {
  check(!alive, "one StopSignals at a time");
  alive = true;
  request = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags =
      SA_RESTART;  // reads and writes under way go on: only the loop looks at the request
  sigaction(SIGTERM, &action, &before_term);
  sigaction(SIGINT, &action, &before_int);
  sigaction(SIGHUP, &action, &before_hangup);
  // nohup ignores it, so that the run outlives its terminal.
  if (before_hangup.sa_handler == SIG_IGN) sigaction(SIGHUP, &before_hangup, nullptr);
}

StopSignals::~StopSignals() {
  sigaction(SIGTERM, &before_term, nullptr);
  sigaction(SIGINT, &before_int, nullptr);
  sigaction(SIGHUP, &before_hangup, nullptr);
  request = 0;
  alive = false;
}

int StopSignals::requested() { return request; }

void leave_if_stopped() {
  if (request != 0) throw Stopped{};
}

void ignore_broken_pipes() { std::signal(SIGPIPE, SIG_IGN); }

}  // namespace bertrain
