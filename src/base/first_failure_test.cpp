// What is thrown inside a parallel region reaches the caller.
#include "base/first_failure.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace bertrain {
namespace {

TEST(FirstFailure, OfManyThreadsReachesTheCaller) {
  FirstFailure failure;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&failure] { failure.run([] { throw std::bad_alloc(); }); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(failure.any());
  EXPECT_THROW(failure.rethrow(), std::bad_alloc);
}

TEST(FirstFailure, TheFirstStays) {
  FirstFailure failure;
  failure.run([] {});
  EXPECT_FALSE(failure.any());
  failure.rethrow();
  failure.run([] { throw std::runtime_error("first"); });
  failure.run([] { throw std::logic_error("second"); });
  EXPECT_THROW(failure.rethrow(), std::runtime_error);
}

}  // namespace
}  // namespace bertrain
