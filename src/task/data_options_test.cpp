// Numbers out of range are refused by the names of their flags.
#include "task/data_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error_message.h"

namespace bertrain {
namespace {

using testing::HasSubstr;

TEST(DataOptions, RangesAreSaid) {
  DataOptions sound;
  sound.max_seq_length = 64;
  check_data_options(sound, 64);
  DataOptions o = sound;
  EXPECT_EQ(message_of([&] { check_data_options(o, 63); }),
            "--max_seq_length=64 is beyond the model's 63 positions");
  o.limit = -1;
  EXPECT_EQ(message_of([&] { check_data_options(o, 64); }), "--limit=-1: 0 or more expected");
  for (double share : {0.0, -0.5, 1.5, std::nan("")}) {
    o.train_fraction = share;
    EXPECT_THAT(message_of([&] { check_data_options(o, 64); }), HasSubstr("--train_fraction="));
  }
  for (double share : {-0.1, 1.0, std::nan("")}) {
    EXPECT_THAT(message_of([&] { check_dev_fraction(share); }), HasSubstr("--dev_fraction="));
  }
  check_dev_fraction(0);
  for (double rate : {-0.1, 1.0, std::nan("")}) {
    EXPECT_THAT(message_of([&] { check_classifier_dropout(rate); }),
                HasSubstr("--classifier_dropout="));
  }
  check_classifier_dropout(0.999);
}

}  // namespace
}  // namespace bertrain
