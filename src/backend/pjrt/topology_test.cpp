// Compiling for hardware that is not there, on the fake plugin.
#include "backend/pjrt/topology.h"

#include <gmock/gmock.h>

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
    EXPECT_EQ(topology->description(), "1 x fake v1, platform tpu, PJRT API 0.99");
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

TEST_F(OnCpuPlugin, CompilesOnlyForItsOwnMachine) {
  EXPECT_THAT(message_of([&] { PjrtTopology::open(cpu_plugin(), "cpu:2x2", {}); }),
              HasSubstr("PJRT_TopologyDescription_Create"));
}

}  // namespace
}  // namespace bertrain
