// Halves and brain floats are the same numbers in f32.
#include "checkpoint/widened.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace bertrain {
namespace {

Array of_bits(DType dtype, const std::vector<uint16_t>& bits) {
  return make_array({dtype, {static_cast<int64_t>(bits.size())}}, [&](std::span<std::byte> into) {
    std::memcpy(into.data(), bits.data(), into.size());
  });
}

TEST(Widened, KeepsEveryValue) {
  std::string uri = "mem://widened/x.safetensors";
  auto writer = create_checkpoint(uri, CheckpointFormat::safetensors);
  writer->write("half", of_bits(DType::f16, {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x0001, 0x83ff,
                                             0x0400, 0x7c00, 0xfc00, 0x7e00}));
  writer->write("brain", of_bits(DType::bf16, {0x3f80, 0xc000, 0x0001, 0x7f80}));
  writer->write("wide", scalar(3.5F));
  writer->write("count", scalar(int64_t{7}));
  writer->commit();
  auto reader = widen_floats(open_checkpoint(uri));
  EXPECT_EQ(reader->tensors().at("half"), (ArrayType{DType::f32, {11}}));
  Array read = reader->read("half");
  std::span<const float> half = read.as<float>();
  const float wanted[] = {0,        -0.0F,         1,        -2,       65504,
                          0x1p-24F, -0x1.ff8p-15F, 0x1p-14F, INFINITY, -INFINITY};
  for (size_t i = 0; i < std::size(wanted); ++i) {
    EXPECT_EQ(half[i], wanted[i]) << i;
    EXPECT_EQ(std::signbit(half[i]), std::signbit(wanted[i])) << i;
  }
  EXPECT_TRUE(std::isnan(half[10]));
  Array brain = reader->read("brain");
  EXPECT_THAT(std::vector<float>(brain.as<float>().begin(), brain.as<float>().end()),
              testing::ElementsAre(1, -2, 0x1p-133F, INFINITY));
  EXPECT_EQ(reader->read("wide").as<float>()[0], 3.5F);
  EXPECT_EQ(reader->read("count").as<int64_t>()[0], 7);
}

}  // namespace
}  // namespace bertrain
