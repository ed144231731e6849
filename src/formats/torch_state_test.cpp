// State dicts made opcode by opcode: views within their storage, and everything that is not.
#include "formats/torch_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/error_message.h"

namespace bertrain {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

std::string text(const std::string& value) {
  return "U" + std::string(1, static_cast<char>(value.size())) + value;
}
std::string number(int64_t value) {
  std::string bytes = "\x8a\x08";
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}
std::string numbers(const std::vector<int64_t>& values) {
  std::string all = "(";
  for (int64_t value : values) all += number(value);
  return all + "t";
}
std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
std::string storage(int64_t count, const std::string& type = "FloatStorage") {
  return "(" + text("storage") + global("torch", type) + text("7") + text("cpu") + number(count) +
         "tQ";
}
std::string tensor(const std::string& in, int64_t offset, const std::vector<int64_t>& extents,
                   const std::vector<int64_t>& strides) {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + in + number(offset) +
         numbers(extents) + numbers(strides) + "\x89NtR";
}
std::string dict(const std::string& name, const std::string& value) {
  return "}" + text(name) + value + "s";
}

Named<TorchTensor> read(const std::string& value) {
  return torch_tensors(read_pickle(value + ".", check_torch_global));
}
std::string refused(const std::string& value) {
  return message_of([&] { read(value); });
}
std::string refused_tensor(int64_t offset, const std::vector<int64_t>& extents,
                           const std::vector<int64_t>& strides) {
  return refused(dict("x", tensor(storage(12), offset, extents, strides)));
}

TEST(TorchState, Views) {
  TorchTensor x = read(dict("x", tensor(storage(12), 2, {2, 3}, {5, 2}))).at("x");
  EXPECT_EQ(x.type, (ArrayType{DType::f32, {2, 3}}));
  EXPECT_EQ(x.storage, "7");
  EXPECT_EQ(x.storage_bytes, 48u);
  EXPECT_EQ(x.spanned(), 10u);
  EXPECT_FALSE(x.is_contiguous());
  // An axis of one element, and no elements at all: strides mean nothing.
  EXPECT_TRUE(read(dict("x", tensor(storage(12), 0, {1, 3}, {99, 1}))).at("x").is_contiguous());
  TorchTensor none = read(dict("x", tensor(storage(12), 12, {0, 3}, {99, 99}))).at("x");
  EXPECT_TRUE(none.is_contiguous());
  EXPECT_EQ(none.spanned(), 0u);
  EXPECT_TRUE(read(dict("x", tensor(storage(1), 0, {}, {}))).at("x").is_contiguous());
}

TEST(TorchState, WhatIsNotWithinItsStorage) {
  EXPECT_THAT(refused_tensor(0, {13}, {1}),
              HasSubstr("f32 [13] from element 0 of a storage of 12 reaches beyond"));
  EXPECT_THAT(refused_tensor(1, {12}, {1}), HasSubstr("reaches beyond"));
  EXPECT_THAT(refused_tensor(INT64_MAX, {1}, {1}), HasSubstr("reaches beyond"));
  EXPECT_THAT(refused_tensor(1, {3, 3}, {INT64_MAX, INT64_MAX}), HasSubstr("reaches beyond"));
  EXPECT_THAT(refused_tensor(0, {int64_t{1} << 40}, {0}), HasSubstr("repeats the 12 elements"));
  EXPECT_THAT(refused_tensor(0, {int64_t{1} << 40, int64_t{1} << 40}, {0, 0}),
              HasSubstr("too large"));
  EXPECT_THAT(refused_tensor(-1, {1}, {1}), HasSubstr("its offset is something else"));
  EXPECT_THAT(refused_tensor(0, {-1}, {1}), HasSubstr("its extents is something else"));
  EXPECT_THAT(refused_tensor(0, {2}, {-1}), HasSubstr("its strides is something else"));
  EXPECT_THAT(refused_tensor(0, {2, 2}, {1}), HasSubstr("f32 [2, 2] has 1 strides"));
  EXPECT_THAT(refused_tensor(0, std::vector<int64_t>(65, 1), {1}), HasSubstr("at most 64"));
  EXPECT_THAT(refused(dict("x", tensor(storage(INT64_MAX, "LongStorage"), 0, {1}, {1}))),
              HasSubstr("its storage of 9223372036854775807 elements is too large"));
}

TEST(TorchState, WhatIsNotATensorIsSaid) {
  EXPECT_THAT(refused(dict("x", tensor("N", 0, {1}, {1}))),
              HasSubstr("tensor 'x': it has no storage"));
  EXPECT_THAT(refused(dict("x", tensor("NQ", 0, {1}, {1}))), HasSubstr("not described as one"));
  EXPECT_THAT(refused(dict("x", tensor(storage(1, "ShortStorage"), 0, {1}, {1}))),
              HasSubstr("type int16 is not read"));
  EXPECT_THAT(refused(dict("x", global("torch._utils", "_rebuild_tensor_v2") + ")R")),
              HasSubstr("0 arguments"));
  EXPECT_THAT(refused(dict("x", global("torch._utils", "_rebuild_parameter") + ")R")),
              HasSubstr("a Parameter without its tensor"));
  EXPECT_THAT(refused("}N" + tensor(storage(1), 0, {1}, {1}) + "s"),
              HasSubstr("the name of a tensor is no text"));
  EXPECT_THAT(refused("N"), HasSubstr("holds no dict of tensors by name"));
  EXPECT_THAT(refused(tensor(storage(1), 0, {1}, {1})),
              HasSubstr("holds no dict of tensors by name"));
  EXPECT_THAT(refused(dict("x", "]")), HasSubstr("holds no dict of tensors by name"));
  std::string x = tensor(storage(1), 0, {1}, {1});
  EXPECT_THAT(refused("}" + text("x") + x + "s" + text("x") + x + "s"),
              HasSubstr("tensor 'x' is there twice"));
  EXPECT_THAT(refused("}" + text("x") + x + "s" + text("m") + dict("y", x) + "s"),
              HasSubstr("several dicts of tensors (the whole, 'm')"));
}

// A few bytes for each of many references to one value, which must not become as many copies.
TEST(TorchState, SharedValuesDoNotMultiply) {
  std::string child = "}q\x00("s + std::string(2 * 10000, 'N') + "u";
  std::string root = "}";
  for (int i = 0; i < 10000; ++i) root += "Nh\x00s"s;
  EXPECT_THAT(refused(child + "0" + root), HasSubstr("more entangled"));
  // The same state dict under two names is one.
  std::string state = dict("x", tensor(storage(1), 0, {1}, {1}));
  EXPECT_EQ(read("}" + text("a") + state + "q\x00s"s + text("b") + "h\x00s"s).size(), 1u);
  std::string call = tensor(storage(1), 0, {1}, {1}) + "q\x00"s + "0";
  std::string many = call + "}";
  for (int i = 0; i <= 1 << 18; ++i) many += text(std::to_string(i)) + "h\x00s"s;
  EXPECT_THAT(refused(many), HasSubstr("more than 262144 tensors"));
  std::string key = "(" + text("storage") + global("torch", "FloatStorage") + "X\xd0\x07\0\0"s +
                    std::string(2000, '7') + text("cpu") + "K\x01tQ";
  EXPECT_THAT(refused(dict("x", tensor(key, 0, {1}, {1}))),
              HasSubstr("the key of its storage has 2000 bytes"));
}

TEST(TorchState, OtherValuesAreLeftOut) {
  std::string x = tensor(storage(1), 0, {1}, {1});
  std::string state = "}" + text("x") + x + "s" + text("n") + "Ns" + text("k") + "K\x01s";
  EXPECT_EQ(read(state).size(), 1u);
  EXPECT_EQ(read(dict("state_dict", state)).size(), 1u);
  // Python 2 gives the pairs of an OrderedDict to its constructor.
  std::string pairs = global("collections", "OrderedDict") + "(](](" + text("x") + x + "eetR";
  EXPECT_TRUE(read(pairs).contains("x"));
}

TEST(TorchState, OnlyWhatIsKnownPasses) {
  for (const char* name :
       {"collections.OrderedDict", "torch.FloatStorage", "torch.cuda.HalfStorage",
        "torch.storage.UntypedStorage", "torch.float32", "torch.Size"}) {
    EXPECT_NO_THROW(check_torch_global(name)) << name;
  }
  for (const char* name :
       {"os.system", "builtins.eval", "__builtin__.eval", "torch.load", "torch.hub.load", "torch.",
        "torch.Storage", "numpy.core.multiarray._reconstruct", ""}) {
    EXPECT_THROW(check_torch_global(name), Error) << name;
  }
}

TEST(TorchState, StoragesOfAllValues) {
  Pickle pickle =
      read_pickle(dict("x", tensor(storage(12), 0, {1}, {1})) + ".", check_torch_global);
  EXPECT_EQ(torch_storages(pickle).at("7"), (TorchStorage{12, 4}));
  std::string both = "(" + storage(1) + storage(2) + "t.";
  EXPECT_THAT(message_of([&] { torch_storages(read_pickle(both, check_torch_global)); }),
              HasSubstr("storage '7' has two sizes"));
}

}  // namespace
}  // namespace bertrain
