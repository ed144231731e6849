// Weight files of the real torch, equal to the byte to safetensors files of the same tensors; and
// every kind of damage and malice.
#include "checkpoint/pytorch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/error_message.h"
#include "checkpoint/checkpoint.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

const std::string kData = BERTRAIN_TEST_DATA "/pytorch/";

void expect_same(const CheckpointReader& got, const CheckpointReader& want) {
  EXPECT_EQ(got.tensors(), want.tensors()) << got.uri();
  for (const auto& [name, type] : want.tensors()) {
    Array a = got.read(name), b = want.read(name);
    EXPECT_EQ(a.type, type) << name;
    EXPECT_TRUE(std::ranges::equal(a.raw(), b.raw())) << got.uri() << " " << name;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.bytes.get()) % size_of(type.dtype), 0u);
  }
}

std::string opening(const std::string& uri) {
  return message_of([&] { open_pytorch(uri); });
}

std::string opening_text(const std::string& file) {
  write_text("mem://torch", file);
  return opening("mem://torch");
}

// The file with a text of the same length in place of another, which must be there once or more.
std::string replaced(std::string file, const std::string& from, const std::string& to) {
  EXPECT_EQ(from.size(), to.size());
  size_t at = file.find(from);
  EXPECT_NE(at, std::string::npos);
  for (; at != std::string::npos; at = file.find(from, at + 1)) file.replace(at, from.size(), to);
  return file;
}

TEST(PyTorch, ValuesAreThoseOfSafetensors) {
  auto want = open_checkpoint(kData + "values.safetensors");
  ASSERT_EQ(want->tensors().size(), 15u);
  for (const char* name : {"zip.bin", "old.bin", "protocol4.bin", "wrapped.bin"}) {
    expect_same(*open_pytorch(kData + name), *want);
    write_text("mem://copy", read_text(kData + name));  // not mapped
    expect_same(*open_checkpoint("mem://copy"), *want);
    EXPECT_EQ(format_of_checkpoint(kData + name), CheckpointFormat::pytorch);
  }
}

TEST(PyTorch, ContiguousTensorsAreMapped) {
  auto reader = open_pytorch(kData + "zip.bin");
  EXPECT_EQ(reader->read("tied.a").bytes.get(), reader->read("tied.b").bytes.get());
  EXPECT_EQ(reader->read("row").bytes.get(), reader->read("row").bytes.get());
  EXPECT_NE(reader->read("turned").bytes.get(), reader->read("turned").bytes.get());
}

TEST(PyTorch, ModulesAndUnsignedNumbers) {
  auto module = open_pytorch(kData + "module.bin");
  EXPECT_EQ(module->tensors().at("weight"), (ArrayType{DType::f32, {1, 2}}));
  EXPECT_EQ(module->tensors().size(), 2u);
  auto unsigned_numbers = open_pytorch(kData + "u32.bin")->read("u32");
  EXPECT_EQ(unsigned_numbers.as<uint32_t>()[1], 0xffffffffu);
}

TEST(PyTorch, WhatIsNoStateDictIsAnErrorWithAWayOut) {
  for (const char* name : {"runs.bin", "runs_old.bin"}) {
    EXPECT_THAT(opening(kData + name), HasSubstr("needs 'posix.system' of Python"));
  }
  EXPECT_FALSE(std::filesystem::exists("bertrain-was-here"));
  EXPECT_THAT(opening(kData + "whole_model.bin"), HasSubstr("'torch.nn.modules.linear.Linear'"));
  EXPECT_THAT(opening(kData + "f64.bin"), HasSubstr("tensor 'wide': its type float64 is not read"));
  EXPECT_THAT(opening(kData + "several.bin"),
              HasSubstr("several dicts of tensors ('model', 'ema')"));
  EXPECT_THAT(message_of([] { open_pytorch(kData + "zip.bin")->read("nope"); }),
              HasSubstr("zip.bin: no tensor 'nope'"));
  EXPECT_THAT(opening_text("PK\x05\x06"s + std::string(18, '\0')), HasSubstr("mem://torch: "));
  EXPECT_THAT(opening_text("hello"), HasSubstr("no file of torch.save"));
  EXPECT_THAT(opening_text("\x80\x02}q\x00."s), HasSubstr("no file of torch.save"));
}

TEST(PyTorch, TruncatedAtEveryLength) {
  for (const char* name : {"small.bin", "small_old.bin"}) {
    std::string file = read_text(kData + name);
    for (size_t n = 0; n < file.size(); ++n) {
      EXPECT_NE(opening_text(file.substr(0, n)), "no error") << name << " " << n;
    }
    EXPECT_EQ(opening_text(file), "no error");
  }
  std::string old = read_text(kData + "small_old.bin");
  EXPECT_THAT(opening_text(old.substr(0, old.size() - 1)), HasSubstr("truncated"));
  EXPECT_THAT(opening_text(old + "x"), HasSubstr("1 bytes follow the last storage"));
}

// The zip archive has checksums: an Error or the right values. The old format has none.
TEST(PyTorch, AnyBitFlipped) {
  auto want = open_pytorch(kData + "small.bin");
  for (const char* name : {"small.bin", "small_old.bin"}) {
    std::string file = read_text(kData + name);
    int read = 0, refused = 0;
    for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
      std::string copy = file;
      copy[bit / 8] = static_cast<char>(copy[bit / 8] ^ (1 << bit % 8));
      write_text("mem://flipped", copy);
      try {
        auto reader = open_pytorch("mem://flipped");
        for (const auto& [tensor, type] : reader->tensors()) reader->read(tensor);
        if (name == std::string_view("small.bin")) expect_same(*reader, *want);
        ++read;
      } catch (const Error&) {
        ++refused;
      }
    }
    EXPECT_GT(read, 0);
    EXPECT_GT(refused, 1000);
  }
}

TEST(PyTorch, DamagedValuesAreFoundByTheirChecksum) {
  std::string file = read_text(kData + "small.bin");
  size_t at = file.find("\x00\x00\x80\x3f\x00\x00\x00\x40"s);  // 1.0, 2.0
  ASSERT_NE(at, std::string::npos);
  file[at] = 1;
  write_text("mem://damaged", file);
  auto reader = open_pytorch("mem://damaged");
  EXPECT_THAT(message_of([&] { reader->read("x"); }),
              HasSubstr("mem://damaged: tensor 'x': its checksum does not hold"));
  EXPECT_EQ(reader->read("y").as<uint8_t>()[0], 3);
}

// Small numbers are one byte after 'K': "K\x02\x85" is the shape (2,).
TEST(PyTorch, SizesOfTheOldFormatAreChecked) {
  std::string file = read_text(kData + "small_old.bin");
  std::string shape = "K\x00K\x02\x85q"s;  // offset 0, extents (2)
  EXPECT_THAT(opening_text(replaced(file, shape, "K\x00K\x03\x85q"s)),
              HasSubstr("tensor 'x': f32 [3] from element 0 of a storage of 2 reaches beyond"));
  EXPECT_THAT(opening_text(replaced(file, shape, "K\x01K\x02\x85q"s)),
              HasSubstr("f32 [2] from element 1 of a storage of 2 reaches beyond"));
  EXPECT_EQ(opening_text(replaced(file, "little_endian", "little_indian")), "no error");
  EXPECT_THAT(opening_text(replaced(file, "FloatStorage", "QuiltStorage")),
              HasSubstr("needs 'torch.QuiltStorage'"));
  std::string count = "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x3f"s;  // 2 elements, 1.0
  EXPECT_THAT(
      opening_text(replaced(file, count, "\x02\x00\x00\x00\x00\x00\x00\x80\x00\x00\x80\x3f"s)),
      HasSubstr("has 9223372036854775810 elements at byte"));
}

}  // namespace
}  // namespace bertrain
