// Safetensors: round trips, files of other writers, and every kind of damage.
#include "checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/error.h"
#include "base/error_message.h"
#include "base/rng.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::HasSubstr;

Named<Array> samples() {
  Named<Array> arrays;
  arrays["b/f32"] = make_array<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6.5f});
  arrays["a/u8"] = make_array<uint8_t>({3}, std::vector<uint8_t>{7, 8, 9});
  arrays["c/i64"] = scalar<int64_t>(-5);
  arrays["d/bf16"] = make_array<uint16_t>({2}, std::vector<uint16_t>{0x3f80, 0x4000});
  arrays["e/empty"] = zeros({DType::f32, {0, 4}});
  arrays["f/bool"] = zeros({DType::boolean, {5}});
  arrays["g/i32"] = scalar<int32_t>(3);
  return arrays;
}

Named<ArrayType> types_of(const Named<Array>& arrays) {
  Named<ArrayType> types;
  for (const auto& [name, array] : arrays) types[name] = array.type;
  return types;
}

void expect_equal(const CheckpointReader& reader, const Named<Array>& arrays) {
  EXPECT_EQ(reader.tensors(), types_of(arrays));
  for (const auto& [name, array] : arrays) {
    Array back = reader.read(name);
    EXPECT_EQ(back.type, array.type) << name;
    EXPECT_TRUE(std::ranges::equal(back.raw(), array.raw())) << name;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(back.bytes.get()) % size_of(array.type.dtype), 0u);
  }
}

// A file with that header and that many bytes of values.
std::string crafted(const std::string& header, size_t data, uint64_t length = 0) {
  std::string file;
  if (length == 0) length = header.size();
  for (int i = 0; i < 8; ++i) file += static_cast<char>(length >> (8 * i));
  return file + header + std::string(data, '\0');
}

std::string opening(const std::string& file) {
  write_text("mem://crafted", file);
  return message_of([] { open_safetensors("mem://crafted"); });
}

TEST(Safetensors, RoundTripInMemoryAndOnDisk) {
  std::string local = (std::filesystem::temp_directory_path() / "bertrain-st.safetensors").string();
  for (const std::string& uri : {std::string("mem://x"), local}) {
    for (bool declare : {false, true}) {
      Named<Array> arrays = samples();
      auto writer = create_safetensors(uri, declare ? types_of(arrays) : Named<ArrayType>{});
      for (auto it = arrays.rbegin(); it != arrays.rend(); ++it)
        writer->write(it->first, it->second);
      writer->commit();
      expect_equal(*open_safetensors(uri), arrays);
    }
  }
  std::filesystem::remove(local);
}

TEST(Safetensors, SameBytesHoweverItWasWritten) {
  Named<Array> arrays = samples();
  auto held = create_safetensors("mem://held");
  auto declared = create_safetensors("mem://declared", types_of(arrays));
  for (const auto& [name, array] : arrays) {
    held->write(name, array);
    declared->write(name, array);
  }
  held->commit();
  declared->commit();
  EXPECT_EQ(read_text("mem://held"), read_text("mem://declared"));
  std::string start = read_text("mem://held").substr(8, 60);
  EXPECT_THAT(start, HasSubstr(R"({"__metadata__":{"format":"pt"},"a/u8":{"data_offsets":)"));
}

TEST(Safetensors, NothingAppearsWithoutCommit) {
  create_safetensors("mem://uncommitted")->write("x", scalar(1.0f));
  EXPECT_FALSE(storage_for("mem://").size("mem://uncommitted"));
}

TEST(Safetensors, MisuseIsABug) {
  auto twice = create_safetensors("mem://t");
  twice->write("x", scalar(1.0f));
  EXPECT_THROW(twice->write("x", scalar(1.0f)), std::logic_error);
  auto other = create_safetensors("mem://o", {{"x", {DType::f32, {}}}});
  EXPECT_THROW(other->write("x", scalar<int32_t>(1)), std::logic_error);
  auto missing = create_safetensors("mem://m", {{"x", {DType::f32, {}}}});
  EXPECT_THROW(missing->commit(), std::logic_error);
}

TEST(Safetensors, ReadsAFileOfTheReferenceLibrary) {
  auto reader = open_safetensors(BERTRAIN_TEST_DATA "/tf1_classify/forward.safetensors");
  EXPECT_EQ(reader->tensors().at("input_ids").dtype, DType::i32);
  EXPECT_EQ(reader->read("loss").as<float>().size(), 1u);
  EXPECT_NEAR(reader->read("loss").as<float>()[0], 1.1, 0.2);
}

TEST(Safetensors, UnknownNameNamesTheFile) {
  auto reader = open_safetensors(BERTRAIN_TEST_DATA "/tf1_classify/forward.safetensors");
  EXPECT_THAT(message_of([&] { reader->read("nope"); }),
              HasSubstr("forward.safetensors: no tensor 'nope'"));
}

TEST(Safetensors, TruncationSaysBothSizes) {
  auto writer = create_safetensors("mem://whole");
  writer->write("x", zeros({DType::f32, {100}}));
  writer->commit();
  std::string whole = read_text("mem://whole");
  EXPECT_THAT(opening(whole.substr(0, whole.size() / 2)),
              HasSubstr(fmt::format("truncated: expected {} bytes, found {}", whole.size(),
                                    whole.size() / 2)));
  EXPECT_THAT(opening(whole.substr(0, 5)), HasSubstr("truncated: expected 8 bytes, found 5"));
  EXPECT_THAT(opening(whole.substr(0, 20)), HasSubstr("truncated: expected"));
  EXPECT_THAT(opening(whole + "more"), HasSubstr("4 bytes follow the last tensor"));
}

TEST(Safetensors, CraftedHeadersAreErrors) {
  auto tensor = [](const std::string& fields) { return "{\"x\":{" + fields + "}}"; };
  EXPECT_THAT(opening(crafted("{", 0, 1ull << 62)), HasSubstr("would have 4611686018427387904"));
  EXPECT_THAT(opening(crafted("[]", 0)), HasSubstr("not a JSON object"));
  EXPECT_THAT(opening(crafted("{\"x\":", 0)), HasSubstr("not a JSON object"));
  EXPECT_THAT(opening(crafted("{\"x\":3}", 0)), HasSubstr("no \"dtype\""));
  EXPECT_THAT(opening(crafted(tensor(R"("dtype":"F64","shape":[1],"data_offsets":[0,8])"), 8)),
              HasSubstr("tensor 'x': dtype F64 is not read"));
  EXPECT_THAT(opening(crafted(tensor(R"("dtype":[[[]]],"shape":[1],"data_offsets":[0,8])"), 8)),
              HasSubstr("is not read"));
  EXPECT_THAT(opening(crafted(tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), 4)),
              HasSubstr("something else than sizes"));
  EXPECT_THAT(opening(crafted(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), 4)),
              HasSubstr("f32 [2] takes 8 bytes, but its data_offsets are 0 and 4"));
  EXPECT_THAT(opening(crafted(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), 4)),
              HasSubstr("its data_offsets are 4 and 0"));
  EXPECT_THAT(
      opening(crafted(
          tensor(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4])"), 4)),
      HasSubstr("too large"));
  EXPECT_THAT(
      opening(crafted(tensor(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])"),
                      0)),
      HasSubstr("too large"));
  EXPECT_THAT(opening(crafted(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), 8)),
              HasSubstr("starts at byte 4 of the data, expected 0"));
  std::string overlap = R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                        R"("y":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})";
  EXPECT_THAT(opening(crafted(overlap, 6)), HasSubstr("starts at byte 2 of the data, expected 4"));
}

// Lists within lists, as deep as the header may be: no recursion may follow them.
TEST(Safetensors, DeepHeaderDoesNotOverflowTheStack) {
  std::string deep(1 << 20, '[');
  EXPECT_THAT(opening(crafted("{\"x\":{\"dtype\":" + deep + std::string(1 << 20, ']') + "}}", 0)),
              HasSubstr("no \"shape\""));
  EXPECT_THAT(opening(crafted("{\"x\":" + deep, 0)), HasSubstr("not a JSON object"));
}

TEST(Safetensors, BoolsAreZeroOrOne) {
  std::string header = R"({"x":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})";
  std::string file = crafted(header, 2);
  file.back() = 2;
  write_text("mem://bool", file);
  auto reader = open_safetensors("mem://bool");
  EXPECT_THAT(message_of([&] { reader->read("x"); }), HasSubstr("neither 0 nor 1"));
}

TEST(Safetensors, SurvivesMutations) {
  auto writer = create_safetensors("mem://seed");
  for (const auto& [name, array] : samples()) writer->write(name, array);
  writer->commit();
  std::string whole = read_text("mem://seed");
  Block key = key_of(2, "mutations", 0);
  const std::string alphabet = "0123456789[]{},:\"-eEn\\\xff";
  int read = 0;
  for (uint64_t i = 0; i < 4000; ++i) {
    std::string copy = whole;
    for (uint64_t n = below(key, 16 * i, 3) + 1, j = 1; j <= n; ++j) {
      size_t at = below(key, 16 * i + j, copy.size());
      copy[at] = alphabet[below(key, 16 * i + j + 4, alphabet.size())];
    }
    if (i % 7 == 0) copy.resize(below(key, 16 * i + 10, copy.size()));
    write_text("mem://mutant", copy);
    try {
      auto reader = open_safetensors("mem://mutant");
      for (const auto& [name, type] : reader->tensors()) reader->read(name);
      ++read;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace bertrain
