// One process: sums and broadcasts change nothing, a gather returns one part.
#include <gtest/gtest.h>

#include "base/error.h"
#include "dist/communicator.h"

namespace bertrain {
namespace {

TEST(Solo, ExchangesWithItself) {
  auto c = solo();
  EXPECT_EQ(c->rank(), 0);
  EXPECT_EQ(c->size(), 1);
  std::vector<float> values = {1, 2};
  auto pending = c->start_sum(values);
  pending->wait();
  EXPECT_TRUE(pending->poll());
  EXPECT_EQ(values, (std::vector<float>{1, 2}));
  std::vector<std::byte> bytes(3, std::byte{7});
  auto parts = c->gather(bytes, 0);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0], bytes);
  EXPECT_THROW(c->broadcast(bytes, 1), std::logic_error);
  EXPECT_THROW(c->abort("a reason"), Error);
}

}  // namespace
}  // namespace bertrain
