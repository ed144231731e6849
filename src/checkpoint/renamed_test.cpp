// Renamed checkpoints: names, left-out tensors, turned matrices, clashes.
#include "checkpoint/renamed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace bertrain {
namespace {

std::unique_ptr<CheckpointReader> sample() {
  auto writer = create_checkpoint("mem://renamed", CheckpointFormat::safetensors);
  writer->write("w", make_array<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  writer->write("b", make_array<float>({2}, std::vector<float>{7, 8}));
  writer->write("k", make_array<float>({1, 2}, std::vector<float>{9, 10}));
  writer->commit();
  return open_checkpoint("mem://renamed");
}

TEST(Renamed, NamesShapesAndValues) {
  auto reader = rename_tensors(
      sample(),
      [](std::string_view n) -> std::string { return n == "w"   ? "kernel"
                                                     : n == "b" ? ""
                                                                : "k"; },
      [](std::string_view) { return true; });
  EXPECT_EQ(reader->tensors(),
            (Named<ArrayType>{{"kernel", {DType::f32, {3, 2}}}, {"k", {DType::f32, {1, 2}}}}));
  EXPECT_THAT(reader->read("kernel").as<float>(), testing::ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(reader->read("k").as<float>(), testing::ElementsAre(9, 10));
  EXPECT_THROW(reader->read("b"), Error);
}

TEST(Renamed, ClashesAndWrongRanksAreErrors) {
  auto one = [](std::string_view) -> std::string { return "x"; };
  EXPECT_THROW(rename_tensors(sample(), one, [](std::string_view) { return false; }), Error);
  auto prefixed = [](std::string_view n) { return "p/" + std::string(n); };
  EXPECT_THROW(rename_tensors(sample(), prefixed, [](std::string_view) { return true; }), Error);
}

TEST(Renamed, TransposedTwiceIsTheSame) {
  for (DType dtype : {DType::u8, DType::bf16, DType::f32, DType::i64}) {
    for (Shape shape : {Shape{1, 1}, Shape{33, 70}, Shape{0, 5}, Shape{64, 31}}) {
      Array a = make_array({dtype, shape}, [](std::span<std::byte> into) {
        for (size_t i = 0; i < into.size(); ++i) into[i] = std::byte(i * 37 + i / 251);
      });
      Array back = transposed(transposed(a));
      EXPECT_EQ(back.type, a.type);
      EXPECT_TRUE(std::ranges::equal(back.raw(), a.raw()));
    }
  }
}

}  // namespace
}  // namespace bertrain
