// What a client says where the plugin fails it, and what is given back; on the fake plugin.
#include "backend/pjrt/client.h"

#include <gmock/gmock.h>

#include "backend/pjrt/cpu_plugin_for_tests.h"
#include "backend/pjrt/fake_plugin_for_tests.h"
#include "base/error_message.h"

namespace bertrain {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const ArrayType kThree{DType::f32, {3}};

ExitCode code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& e) {
    return e.code();
  }
  return ExitCode::done;
}

struct Failing {
  explicit Failing(const std::string& behaviour, int devices = 0)
      : plugin(behaviour), open([this, devices] {
          PjrtClient::open({plugin.path(), devices});
        }) {}
  FakePlugin plugin;
  std::function<void()> open;
};

TEST(Client, SaysWhyThereIsNoDevice) {
  Failing none("no_device_here");
  EXPECT_THAT(message_of(none.open), AllOf(HasSubstr("PJRT_Client_Create of no_device_here.so"),
                                           HasSubstr("NOT_FOUND: no device found")));
  EXPECT_EQ(code_of(none.open), ExitCode::failed);
  EXPECT_EQ(none.plugin.live_objects(), 0);

  Failing busy("busy");
  EXPECT_EQ(code_of(busy.open), ExitCode::retry);

  Failing empty("no_devices");
  EXPECT_THAT(message_of(empty.open), HasSubstr("finds no device"));
  EXPECT_EQ(empty.plugin.live_objects(), 0);
}

TEST(Client, TakesAsManyDevicesAsAsked) {
  FakePlugin cpu("works");
  EXPECT_EQ(PjrtClient::open({cpu.path(), 0})->devices(), 1);
  EXPECT_EQ(PjrtClient::open({cpu.path(), 3})->devices(), 3);
  FakePlugin tpu("takes_no_option");
  EXPECT_EQ(PjrtClient::open({tpu.path(), 0})->devices(), 4);
  EXPECT_EQ(PjrtClient::open({tpu.path(), 2})->devices(), 2);
  EXPECT_EQ(code_of([&] { PjrtClient::open({tpu.path(), 5}); }), ExitCode::usage);
  EXPECT_THAT(message_of([&] {
                PjrtClient::open({tpu.path(), 5});
              }),
              HasSubstr("5 devices are asked for"));
  EXPECT_EQ(tpu.live_objects(), 0);
}

TEST(Client, Describes) {
  FakePlugin plugin("takes_no_option");
  auto client = PjrtClient::open({plugin.path(), 0});
  EXPECT_EQ(client->platform(), "tpu");
  EXPECT_EQ(client->description(), "4 x fake v1, platform tpu, PJRT API 0.99");
  EXPECT_EQ(client->device_memory(), uint64_t{1} << 30);
  FakePlugin silent("silent");
  EXPECT_EQ(PjrtClient::open({silent.path(), 0})->device_memory(), 0u);
}

TEST(Client, NamesTheFunctionThatIsMissing) {
  FakePlugin lacking("lacks_compile");
  auto client = PjrtClient::open({lacking.path(), 0});
  auto compile = [&] { client->compile("text", {}); };
  EXPECT_THAT(message_of(compile), AllOf(HasSubstr("lacks_compile.so"),
                                         HasSubstr("lacks PJRT_Client_Compile (its API is 0.99)")));
  EXPECT_EQ(code_of(compile), ExitCode::failed);

  FakePlugin old("old_table");  // ends before the statistics, which not every plugin has
  EXPECT_EQ(PjrtClient::open({old.path(), 0})->compile("text", {})->facts().peak, 0u);
}

TEST(Client, SaysThatMemoryIsShort) {
  FakePlugin compiling("compile_oom");
  auto client = PjrtClient::open({compiling.path(), 0});
  EXPECT_THAT(
      message_of([&] { client->compile("text", {}); }),
      AllOf(HasSubstr("too little memory"), HasSubstr("--accumulate"),
            HasSubstr("PJRT_Client_Compile of compile_oom.so: RESOURCE_EXHAUSTED: needs 48G")));
  FakePlugin putting("put_oom");
  client = PjrtClient::open({putting.path(), 0});
  EXPECT_THAT(message_of([&] { client->put(zeros(kThree), 0); }), HasSubstr("too little memory"));
  FakePlugin running("run_oom");
  client = PjrtClient::open({running.path(), 0});
  {
    auto program = client->compile("text", {});
    auto value = client->put(zeros(kThree), 0);
    EXPECT_THAT(message_of([&] { program->run({{value.get()}}, {kThree}); }),
                HasSubstr("PJRT_LoadedExecutable_Execute of run_oom.so: RESOURCE_EXHAUSTED"));
    // The plugin's objects go in any order: the client stays until the last of them is gone.
    client.reset();
  }
  EXPECT_EQ(running.live_objects(), 0);
}

TEST(Client, ThrowsWhatFailsBehindARun) {
  FakePlugin plugin("run_fails_later");
  {
    auto client = PjrtClient::open({plugin.path(), 0});
    auto program = client->compile("text", {});
    auto value = client->put(zeros(kThree), 0);
    auto first = program->run({{value.get()}}, {kThree});
    EXPECT_THAT(message_of([&] { program->wait(); }),
                HasSubstr("PJRT_LoadedExecutable_Execute of run_fails_later.so: INTERNAL"));
    program->wait();  // told once
    auto second = program->run({{value.get()}}, {kThree});
    EXPECT_THAT(message_of([&] { program->run({{value.get()}}, {kThree}); }),
                HasSubstr("it failed behind the call"));
  }
  EXPECT_EQ(plugin.live_objects(), 0);
}

TEST(Client, LetsARunBeTriedAgainWhereAPeerWentAway) {
  FakePlugin plugin("run_aborted");
  auto client = PjrtClient::open({plugin.path(), 0});
  auto program = client->compile("text", {});
  auto value = client->put(zeros(kThree), 0);
  EXPECT_EQ(code_of([&] { program->run({{value.get()}}, {kThree}); }), ExitCode::retry);
}

TEST(Client, CutsWhatACompilerSays) {
  FakePlugin plugin("long_error");
  auto client = PjrtClient::open({plugin.path(), 0});
  std::string message = message_of([&] { client->compile("text", {}); });
  EXPECT_THAT(message, AllOf(HasSubstr("-:3:10: error: no such operation"), Not(HasSubstr("0x7f")),
                             Not(HasSubstr("\x1b")), HasSubstr("…")));
  EXPECT_LT(message.size(), 400u);
}

// The fake copies late: a value that its owner drops must stay until then.
TEST(Client, KeepsBytesUntilTheyAreTaken) {
  for (const char* behaviour : {"works", "put_fails_later", "lacks_on_ready", "lacks_is_ready"}) {
    FakePlugin plugin(behaviour);
    {
      auto client = PjrtClient::open({plugin.path(), 0});
      std::vector<float> values(1 << 18, 2.5f);
      auto buffer = client->put(make_array<float>({1 << 18}, values), 0);
      auto dropped = client->put(make_array<float>({1 << 18}, values), 0);
      dropped.reset();
      if (behaviour != std::string("put_fails_later")) {
        EXPECT_EQ(buffer->get().as<float>()[(1 << 18) - 1], 2.5f);
      } else {
        EXPECT_THAT(message_of([&] { buffer->get(); }),
                    HasSubstr("PJRT_Buffer_ToHostBuffer of put_fails_later.so: DATA_LOSS"));
      }
    }
    // The last transfer may end a moment later.
    for (int i = 0; i < 200 && plugin.live_objects() > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(plugin.live_objects(), 0) << behaviour;
  }
}

TEST(Client, RefusesWhatCannotBe) {
  FakePlugin plugin("works");
  auto client = PjrtClient::open({plugin.path(), 2});
  EXPECT_THROW(client->put(zeros(kThree), 2), std::logic_error);
  EXPECT_THROW(client->put(zeros(kThree), -1), std::logic_error);
  EXPECT_THROW(client->compile("text", {3}), std::logic_error);
  EXPECT_THROW(client->compile("text", {0}), std::logic_error);
}

TEST(Client, TellsFactsWhereThePluginDoes) {
  FakePlugin plugin("works");
  ProgramFacts facts = PjrtClient::open({plugin.path(), 0})->compile("text", {})->facts();
  EXPECT_EQ(facts.arguments, 100u);
  EXPECT_EQ(facts.temporary, 40u);
  EXPECT_EQ(facts.code, 7u);
  EXPECT_EQ(facts.peak, 150u);  // arguments, temporaries and results beside them: none is told
  EXPECT_EQ(facts.flops, 1000);
  EXPECT_EQ(facts.bytes, 2000);
  FakePlugin silent("silent");
  EXPECT_EQ(PjrtClient::open({silent.path(), 0})->compile("text", {})->facts().flops, 0);
}

// A client that goes while its plugin still copies: no deadlock, and nothing is read that is gone.
TEST_F(OnCpuPlugin, GoesWhileItCopies) {
  for (int i = 0; i < 20; ++i) {
    auto client = open(2);
    for (int k = 0; k < 4; ++k) client->put(zeros({DType::f32, {int64_t{1} << 20}}), k % 2);
  }
}

TEST_F(OnCpuPlugin, DescribesItself) {
  auto client = open(2);
  EXPECT_THAT(client->description(),
              AllOf(HasSubstr("2 x "), HasSubstr("platform cpu"), HasSubstr("PJRT API 0.")));
  EXPECT_LT(client->description().size(), 300u);
}

}  // namespace
}  // namespace bertrain
