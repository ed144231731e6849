// Programs written by hand, run by the CPU plugin.
#include "backend/pjrt/executable.h"

#include <gmock/gmock.h>

#include "backend/pjrt/client.h"
#include "backend/pjrt/cpu_plugin_for_tests.h"
#include "base/error_message.h"

namespace bertrain {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ArrayType kPair{DType::f32, {2}};

std::vector<float> floats(const PjrtBuffer& buffer) {
  Array value = buffer.get();
  auto values = value.as<float>();
  return {values.begin(), values.end()};
}

std::vector<std::vector<PjrtBuffer*>> one_device(std::initializer_list<PjrtBuffer*> arguments) {
  return {std::vector<PjrtBuffer*>(arguments)};
}

constexpr const char* kAdd = R"(module @add {
  func.func public @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
    %c = stablehlo.add %a, %b : tensor<2xf32>
    return %c : tensor<2xf32>
  }
})";

class Executable : public OnCpuPlugin {};

TEST_F(Executable, Adds) {
  auto client = open();
  EXPECT_EQ(client->platform(), "cpu");
  EXPECT_EQ(client->devices(), 1);
  auto program = client->compile(kAdd, {});
  auto a = client->put(make_array<float>({2}, {1, 2}), 0);
  auto b = client->put(make_array<float>({2}, {10, 20}), 0);
  auto c = program->run(one_device({a.get(), b.get()}), {kPair});
  ASSERT_EQ(c.size(), 1u);
  ASSERT_EQ(c[0].size(), 1u);
  EXPECT_THAT(floats(*c[0][0]), ElementsAre(11, 22));
  program->wait();
  EXPECT_THAT(floats(*a), ElementsAre(1, 2));
  EXPECT_GT(program->facts().compile_seconds, 0);
  EXPECT_EQ(program->facts().arguments, 16u);
  EXPECT_GE(program->facts().peak, 24u);
}

TEST_F(Executable, MultipliesMatricesAndKeepsRowsInOrder) {
  auto client = open();
  auto program = client->compile(R"(module {
    func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) -> (tensor<2x2xf32>, tensor<3x2xf32>) {
      %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
      %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
      return %c, %t : tensor<2x2xf32>, tensor<3x2xf32>
    }
  })",
                                 {});
  auto a = client->put(make_array<float>({2, 3}, {1, 2, 3, 4, 5, 6}), 0);
  auto b = client->put(make_array<float>({3, 2}, {1, 0, 0, 1, 1, 1}), 0);
  auto made =
      program->run(one_device({a.get(), b.get()}), {{DType::f32, {2, 2}}, {DType::f32, {3, 2}}});
  EXPECT_THAT(floats(*made[0][0]), ElementsAre(4, 5, 10, 11));
  EXPECT_THAT(floats(*made[0][1]), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST_F(Executable, Loops) {
  auto client = open();
  auto program = client->compile(R"(module {
    func.func @main(%n: tensor<i32>) -> tensor<i32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %sum = %zero) : tensor<i32>, tensor<i32>
        cond {
          %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %next = stablehlo.add %i, %one : tensor<i32>
          %total = stablehlo.add %sum, %next : tensor<i32>
          stablehlo.return %next, %total : tensor<i32>, tensor<i32>
        }
      return %r#1 : tensor<i32>
    }
  })",
                                 {});
  auto n = client->put(scalar<int32_t>(10), 0);
  auto sum = program->run(one_device({n.get()}), {{DType::i32, {}}});
  EXPECT_EQ(sum[0][0]->get().as<int32_t>()[0], 55);
}

// Every element type goes there and back, through a program that only passes it on.
TEST_F(Executable, PassesEveryType) {
  auto client = open();
  struct Case {
    const char* name;
    Array value;
  };
  const std::vector<Case> cases = {
      {"f32", make_array<float>({3}, {1.5f, -2, 3})},
      {"bf16", make_array<uint16_t>({3}, {0x3f80, 0xc000, 0x4040})},
      {"i32", make_array<int32_t>({3}, {-1, 2, 3})},
      {"i64", make_array<int64_t>({3}, {-1, int64_t{1} << 40, 3})},
      {"ui32", make_array<uint32_t>({3}, {0xffffffff, 2, 3})},
      {"ui8", make_array<uint8_t>({3}, {255, 2, 3})},
      {"f32", zeros({DType::f32, {0}})},
  };
  for (const Case& c : cases) {
    std::string type = fmt::format("tensor<{}x{}>", c.value.size(), c.name);
    auto program = client->compile(
        fmt::format("func.func @main(%a: {0}) -> {0} {{ return %a : {0} }}", type), {});
    auto there = client->put(c.value, 0);
    auto back = program->run(one_device({there.get()}), {c.value.type});
    Array got = back[0][0]->get();
    ASSERT_EQ(got.byte_size(), c.value.byte_size());
    EXPECT_EQ(std::memcmp(got.bytes.get(), c.value.bytes.get(), got.byte_size()), 0) << c.name;
  }
  Array booleans = make_array({DType::boolean, {3}},
                              [&](std::span<std::byte> into) { into[0] = into[2] = std::byte{1}; });
  auto there = client->put(booleans, 0);
  EXPECT_EQ(std::memcmp(there->get().bytes.get(), booleans.bytes.get(), 3), 0);
}

// Long values are copied in the background: their bytes live until then, whoever drops them.
TEST_F(Executable, KeepsLongValuesUntilTheyAreTaken) {
  auto client = open();
  std::vector<std::unique_ptr<PjrtBuffer>> buffers;
  for (int i = 0; i < 8; ++i) {
    std::vector<float> values(1 << 20, static_cast<float>(i));
    buffers.push_back(client->put(make_array<float>({1 << 20}, values), 0));
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    Array value = buffers[i]->get();
    EXPECT_EQ(value.as<float>().front(), static_cast<float>(i));
    EXPECT_EQ(value.as<float>().back(), static_cast<float>(i));
  }
}

std::string all_reduce(int replicas) {
  std::string group;
  for (int i = 0; i < replicas; ++i) group += fmt::format("{}{}", i == 0 ? "" : ", ", i);
  return fmt::format(R"(module attributes {{mhlo.num_replicas = {1} : i32}} {{
    func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {{
      %s = "stablehlo.all_reduce"(%a) ({{
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %z = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %z : tensor<f32>
      }}) {{replica_groups = dense<[[{0}]]> : tensor<1x{1}xi64>}} : (tensor<2xf32>) -> tensor<2xf32>
      return %s : tensor<2xf32>
    }}
  }})",
                     group, replicas);
}

TEST_F(Executable, SumsOverReplicas) {
  for (int replicas : {1, 2, 4}) {
    auto client = open(replicas);
    ASSERT_EQ(client->devices(), replicas);
    auto program = client->compile(all_reduce(replicas), {replicas});
    std::vector<std::unique_ptr<PjrtBuffer>> given;
    std::vector<std::vector<PjrtBuffer*>> arguments;
    for (int d = 0; d < replicas; ++d) {
      given.push_back(client->put(make_array<float>({2}, {1.0f + static_cast<float>(d), 10}), d));
      arguments.push_back({given.back().get()});
    }
    auto sums = program->run(arguments, {kPair});
    ASSERT_EQ(sums.size(), static_cast<size_t>(replicas));
    float first = static_cast<float>(replicas * (replicas + 1)) / 2;
    for (const PjrtBuffers& of_device : sums) {
      EXPECT_THAT(floats(*of_device[0]), ElementsAre(first, 10.0f * static_cast<float>(replicas)));
    }
    EXPECT_THROW(program->run({}, {kPair}), std::logic_error);
  }
}

constexpr const char* kDonating = R"(func.func @main(
    %a: tensor<2xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.add %a, %b : tensor<2xf32>
  return %c : tensor<2xf32>
})";

TEST_F(Executable, TakesTheMemoryOfWhatIsGivenAway) {
  auto client = open();
  auto program = client->compile(kDonating, {});
  auto a = client->put(make_array<float>({2}, {1, 2}), 0);
  auto b = client->put(make_array<float>({2}, {1, 1}), 0);
  for (int step = 0; step < 50; ++step) {
    auto made = program->run(one_device({a.get(), b.get()}), {kPair});
    a->donated();
    EXPECT_TRUE(a->is_dead());
    EXPECT_THROW(a->get(), std::logic_error);
    EXPECT_THROW(program->run(one_device({a.get(), b.get()}), {kPair}), std::logic_error);
    a = std::move(made[0][0]);
  }
  EXPECT_THAT(floats(*a), ElementsAre(51, 52));
  EXPECT_GT(program->facts().peak, 0u);
}

// Where nobody said that the values went, the plugin says so: no crash, no wrong values.
TEST_F(Executable, RefusesWhatWasGivenAway) {
  auto client = open();
  auto program = client->compile(kDonating, {});
  auto a = client->put(make_array<float>({2}, {1, 2}), 0);
  auto b = client->put(make_array<float>({2}, {1, 1}), 0);
  auto made = program->run(one_device({a.get(), b.get()}), {kPair});
  EXPECT_THAT(message_of([&] {
                program->run(one_device({a.get(), b.get()}), {kPair});
              }),
              HasSubstr("PJRT_LoadedExecutable_Execute of "));
  EXPECT_THAT(message_of([&] { a->get(); }), HasSubstr("PJRT_Buffer_ToHostBuffer of "));
  EXPECT_THAT(floats(*made[0][0]), ElementsAre(2, 3));
}

TEST_F(Executable, SaysWhereTextIsWrong) {
  auto client = open();
  std::string message = message_of([&] {
    client->compile(
        "module {\n  func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
        "    %c = stablehlo.addd %a, %a : tensor<2xf32>\n    return %c : tensor<2xf32>\n  }\n}\n",
        {});
  });
  EXPECT_THAT(message, HasSubstr("PJRT_Client_Compile of "));
  EXPECT_THAT(message, HasSubstr("3:10"));
  EXPECT_LT(message.size(), 1200u);
}

// Far more than any machine has: refused as memory, whether by the compiler or by the run.
TEST_F(Executable, SaysThatMemoryIsShort) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer ends the program for an allocation of that size";
#endif
  auto client = open();
  std::string message = message_of([&] {
    auto program =
        client->compile(R"(func.func @main(%a: tensor<f32>) -> tensor<4000000x4000000xf32> {
      %b = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<4000000x4000000xf32>
      return %b : tensor<4000000x4000000xf32>
    })",
                        {});
    auto a = client->put(scalar(1.0f), 0);
    auto made = program->run(one_device({a.get()}), {{DType::f32, {4000000, 4000000}}});
    program->wait();
  });
  EXPECT_THAT(message, HasSubstr("too little memory"));
}

TEST_F(Executable, RefusesOtherTypesThanItReturns) {
  auto client = open();
  auto program = client->compile(kAdd, {});
  auto a = client->put(make_array<float>({2}, {1, 2}), 0);
  auto run_for = [&](const std::vector<ArrayType>& types) {
    program->run(one_device({a.get(), a.get()}), types);
  };
  EXPECT_THROW(run_for({}), std::logic_error);
  EXPECT_THROW(run_for({{DType::i32, {2}}}), std::logic_error);
  EXPECT_THROW(run_for({{DType::f32, {3}}}), std::logic_error);
  EXPECT_THROW(run_for({kPair, kPair}), std::logic_error);
  run_for({kPair});
}

TEST_F(Executable, RefusesAnotherNumberOfArguments) {
  auto client = open();
  auto program = client->compile(kAdd, {});
  auto a = client->put(make_array<float>({2}, {1, 2}), 0);
  EXPECT_THAT(message_of([&] { program->run(one_device({a.get()}), {kPair}); }),
              HasSubstr("PJRT_LoadedExecutable_Execute"));
}

}  // namespace
}  // namespace bertrain
