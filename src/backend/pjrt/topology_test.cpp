// Compiling for hardware that is not there, on the fake plugin.
#include "backend/pjrt/topology.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "backend/pjrt/cpu_plugin_for_tests.h"
#include "backend/pjrt/fake_plugin_for_tests.h"
#include "base/error_message.h"

namespace bertrain {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(Topology, CompilesAndCountsOperations) {
  FakePlugin plugin("works");
  {
    auto topology = PjrtTopology::open(plugin.path(), "v9:1x1", {});
    EXPECT_EQ(topology->devices(), 1);
    PjrtTopology::Compiled compiled = topology->compile("text", {});
    EXPECT_EQ(compiled.facts.peak, 150u);
    EXPECT_EQ(compiled.facts.flops, 1000);
    EXPECT_THAT(compiled.operations, UnorderedElementsAre(Pair("add", 2), Pair("fused", 1)));
    EXPECT_THROW(topology->compile("text", {2}), std::logic_error);
  }
  EXPECT_EQ(plugin.live_objects(), 0);
}

TEST(Topology, WithoutWhatNotEveryPluginTells) {
  FakePlugin plugin("silent");
  auto compiled = PjrtTopology::open(plugin.path(), "v9:1x1", {})->compile("text", {});
  EXPECT_THAT(compiled.operations, ::testing::IsEmpty());
  EXPECT_EQ(compiled.facts.flops, 0);
}

TEST(Topology, RefusesATornProgram) {
  FakePlugin plugin("torn_program");
  auto topology = PjrtTopology::open(plugin.path(), "v9:1x1", {});
  EXPECT_THAT(message_of([&] { topology->compile("text", {}); }),
              HasSubstr("the optimized program that the plugin gives"));
  topology.reset();
  EXPECT_EQ(plugin.live_objects(), 0);
}

TEST(Topology, OfNoSuchName) {
  FakePlugin plugin("works");
  auto open = [&] { PjrtTopology::open(plugin.path(), "v0:1x1", {}); };
  EXPECT_THAT(message_of(open), AllOf(HasSubstr("no hardware by the name of 'v0:1x1'"),
                                      HasSubstr("INVALID_ARGUMENT: no such topology")));
  try {
    open();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
  }
}

TEST(Topology, TooSmall) {
  FakePlugin plugin("compile_oom");
  auto topology = PjrtTopology::open(plugin.path(), "v9:1x1", {});
  EXPECT_THAT(message_of([&] { topology->compile("text", {}); }),
              AllOf(HasSubstr("too little memory"), HasSubstr("PJRT_Compile of compile_oom.so")));
}

// A plugin of the time before topologies: its table ends before the function.
TEST(Topology, OfAnOldPlugin) {
  FakePlugin plugin("old_table");
  auto topology = PjrtTopology::open(plugin.path(), "v9:1x1", {});
  EXPECT_THAT(message_of([&] { topology->compile("text", {}); }),
              HasSubstr("lacks PJRT_Compile (its API is 0.99): a newer one is expected"));
}

TEST_F(OnCpuPlugin, CompilesOnlyForItsOwnMachine) {
  EXPECT_THAT(message_of([&] { PjrtTopology::open(cpu_plugin(), "cpu:2x2", {}); }),
              HasSubstr("PJRT_TopologyDescription_Create"));
}

// Google's compiler for TPUs, where BERTRAIN_TPU_PLUGIN names it: no TPU is needed.
TEST(Tpu, CompilesWithoutATpu) {
  const char* path = std::getenv("BERTRAIN_TPU_PLUGIN");
  if (path == nullptr) GTEST_SKIP() << "BERTRAIN_TPU_PLUGIN names no libtpu.so (./dev plugin tpu)";
  auto topology = PjrtTopology::open(path, "v5e:2x2", {});
  EXPECT_EQ(topology->devices(), 4);
  PjrtTopology::Compiled compiled = topology->compile(
      R"(module attributes {mhlo.num_replicas = 4 : i32} {
        func.func @main(%a: tensor<256x256xf32>) -> tensor<256x256xf32> {
          %b = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
            : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
          %s = "stablehlo.all_reduce"(%b) ({
            ^bb0(%x: tensor<f32>, %y: tensor<f32>):
              %z = stablehlo.add %x, %y : tensor<f32>
              stablehlo.return %z : tensor<f32>
          }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}
            : (tensor<256x256xf32>) -> tensor<256x256xf32>
          return %s : tensor<256x256xf32>
        }
      })",
      {4});
  EXPECT_GE(compiled.facts.flops, 2.0 * 256 * 256 * 256);
  EXPECT_GE(compiled.facts.peak, 2u * 256 * 256 * 4);
  EXPECT_GE(compiled.operations["all-reduce"], 1);

  auto compile_too_much = [&] {
    topology->compile(
        R"(func.func @main(%a: tensor<65536x65536xf32>) -> tensor<65536x65536xf32> {
          %b = stablehlo.add %a, %a : tensor<65536x65536xf32>
          return %b : tensor<65536x65536xf32>
        })",
        {});
  };
  EXPECT_THAT(message_of(compile_too_much),
              AllOf(HasSubstr("too little memory"), HasSubstr("PJRT_Compile of libtpu.so"),
                    HasSubstr("32.00G")));
}

}  // namespace
}  // namespace bertrain
