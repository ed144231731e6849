// A signal becomes a request; afterwards the signals mean what they meant before.
#include "train/signals.h"

#include <gtest/gtest.h>

#include <csignal>

namespace bertrain {
namespace {

TEST(StopSignals, RequestAndRestore) {
  {
    StopSignals signals;
    EXPECT_EQ(StopSignals::requested(), 0);
    EXPECT_NO_THROW(leave_if_stopped());
    std::raise(SIGTERM);
    EXPECT_EQ(StopSignals::requested(), SIGTERM);
    EXPECT_THROW(leave_if_stopped(), Stopped);
    std::raise(SIGTERM);  // asked twice: still a request
  }
  EXPECT_EQ(StopSignals::requested(), 0);
  EXPECT_EXIT(std::raise(SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignals, HangingUpIsARequestUnlessItIsIgnored) {
  std::signal(SIGHUP, SIG_DFL);
  {
    StopSignals signals;
    std::raise(SIGHUP);
    EXPECT_EQ(StopSignals::requested(), SIGHUP);
  }
  std::signal(SIGHUP, SIG_IGN);
  {
    StopSignals signals;
    std::raise(SIGHUP);
    EXPECT_EQ(StopSignals::requested(), 0);
  }
  EXPECT_EQ(std::signal(SIGHUP, SIG_DFL), SIG_IGN) << "what it was before is what it is after";
}

TEST(StopSignals, SecondInterruptEndsTheProcess) {
  EXPECT_EXIT(
      {
        StopSignals signals;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace bertrain
