// Files that are no plugins, and plugins that are not what they should be.
#include "backend/pjrt/plugin.h"

#include <gmock/gmock.h>

#include <fstream>

#include "backend/pjrt/call.h"
#include "backend/pjrt/cpu_plugin_for_tests.h"
#include "backend/pjrt/fake_plugin_for_tests.h"
#include "base/error_message.h"

namespace bertrain {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Refusal {
  std::string message;
  ExitCode code = ExitCode::done;
};

Refusal refusal_of(const std::string& path) {
  try {
    PjrtPlugin::open(path);
  } catch (const Error& e) {
    return {e.what(), e.code()};
  }
  return {"no error", ExitCode::done};
}

class Files : public ::testing::Test {
 protected:
  // The fake plugin's first `bytes` bytes, changed by `change`.
  std::string changed(size_t bytes, const std::function<void(std::string&)>& change) {
    std::ifstream in(plugin_.path(), std::ios::binary);
    std::string all{std::istreambuf_iterator<char>(in), {}};
    all.resize(std::min(bytes, all.size()));
    change(all);
    std::string path = plugin_.path() + ".changed";
    std::ofstream(path, std::ios::binary) << all;
    return path;
  }
  FakePlugin plugin_{"works"};
};

void nothing(std::string&) {}

TEST_F(Files, ThatAreNoPlugins) {
  Refusal absent = refusal_of("/no/such/plugin.so");
  EXPECT_EQ(absent.code, ExitCode::usage);
  EXPECT_THAT(absent.message, AllOf(HasSubstr("'/no/such/plugin.so'"), HasSubstr("no such file")));

  Refusal empty = refusal_of("");
  EXPECT_EQ(empty.code, ExitCode::usage);

  Refusal folder = refusal_of("/tmp");
  EXPECT_EQ(folder.code, ExitCode::usage);
  EXPECT_THAT(folder.message, HasSubstr("is a folder"));

  Refusal device = refusal_of("/dev/null");
  EXPECT_EQ(device.code, ExitCode::usage);

  std::string text = changed(0, [](std::string& all) { all = "import jax\n"; });
  Refusal script = refusal_of(text);
  EXPECT_EQ(script.code, ExitCode::usage);
  EXPECT_THAT(script.message, HasSubstr("no shared library"));

  Refusal program = refusal_of("/proc/self/cmdline");
  EXPECT_EQ(program.code, ExitCode::usage);
}

// A library of which a part is missing would end the process as soon as that part is touched.
TEST_F(Files, CutShort) {
  for (size_t bytes :
       {size_t{0}, size_t{63}, size_t{64}, size_t{100}, size_t{4096}, size_t{20000}}) {
    Refusal cut = refusal_of(changed(bytes, nothing));
    EXPECT_EQ(cut.code, ExitCode::usage) << bytes;
    EXPECT_THAT(cut.message, Not(HasSubstr("no error"))) << bytes;
  }
  EXPECT_THAT(refusal_of(changed(20000, nothing)).message, HasSubstr("cut short"));
}

TEST_F(Files, ForAnotherProcessor) {
  std::string path = changed(size_t{1} << 30, [](std::string& all) { all[18] = 8; });  // MIPS
  Refusal other = refusal_of(path);
  EXPECT_EQ(other.code, ExitCode::usage);
  EXPECT_THAT(other.message, HasSubstr("another kind of processor"));
}

TEST_F(Files, ThatAreOtherLibraries) {
  Dl_info info{};
  dladdr(dlsym(dlopen("libm.so.6", RTLD_NOW), "cos"), &info);
  Refusal library = refusal_of(info.dli_fname);
  EXPECT_EQ(library.code, ExitCode::usage);
  EXPECT_THAT(library.message, HasSubstr("exports no GetPjrtApi"));
}

TEST(Plugin, OfAnotherMajorVersion) {
  FakePlugin plugin("other_major");
  Refusal other = refusal_of(plugin.path());
  EXPECT_EQ(other.code, ExitCode::usage);
  EXPECT_THAT(other.message, AllOf(HasSubstr("version 1.99"), HasSubstr("speaks 0.x")));
}

TEST(Plugin, WithoutATable) {
  for (const char* behaviour : {"no_table", "short_table"}) {
    FakePlugin plugin(behaviour);
    Refusal refused = refusal_of(plugin.path());
    EXPECT_EQ(refused.code, ExitCode::usage);
    EXPECT_THAT(refused.message, HasSubstr("gives no table"));
  }
}

TEST(Plugin, ThatFailsToInitialize) {
  FakePlugin plugin("initialize_fails");
  Refusal refused = refusal_of(plugin.path());
  EXPECT_EQ(refused.code, ExitCode::failed);
  EXPECT_THAT(refused.message, AllOf(HasSubstr("PJRT_Plugin_Initialize of initialize_fails.so"),
                                     HasSubstr("INTERNAL: not today")));
  EXPECT_EQ(plugin.live_objects(), 0);
}

TEST(Plugin, IsOpenedOnce) {
  FakePlugin plugin("works");
  auto first = PjrtPlugin::open(plugin.path());
  std::filesystem::path path = plugin.path();
  auto second = PjrtPlugin::open((path.parent_path() / "." / path.filename()).string());
  EXPECT_EQ(first, second);
  EXPECT_EQ(first->api_version(), "0.99");
}

TEST_F(OnCpuPlugin, SaysWhatItIs) {
  auto plugin = PjrtPlugin::open(cpu_plugin());
  EXPECT_THAT(plugin->api_version(), ::testing::StartsWith("0."));
}

TEST(TpuFiles, AreNumbered) {
  FakePlugin beside("works");
  std::filesystem::path devices = std::filesystem::path(beside.path()).parent_path() / "dev";
  EXPECT_FALSE(has_tpu_files(devices.string()));  // no such folder
  std::filesystem::create_directories(devices / "vfio" / "devices");
  std::filesystem::create_directories(devices / "accel");
  std::ofstream(devices / "vfio" / "vfio") << "";
  EXPECT_FALSE(has_tpu_files(devices.string()));
  std::ofstream(devices / "vfio" / "12") << "";
  EXPECT_TRUE(has_tpu_files(devices.string()));
  std::filesystem::remove_all(devices / "vfio");
  EXPECT_FALSE(has_tpu_files(devices.string()));
  std::ofstream(devices / "accel3") << "";
  EXPECT_TRUE(has_tpu_files(devices.string()));
}

TEST(Reason, IsCutToItsFirstLines) {
  EXPECT_EQ(readable_reason(""), "no reason is given");
  EXPECT_EQ(readable_reason("one line"), "one line");
  EXPECT_EQ(readable_reason("a\nb\n"), "a\n  b");
  EXPECT_EQ(readable_reason("a\n    @     0x7f12  main\n0x7f13\n\nb"), "a\n  b");
  EXPECT_EQ(readable_reason("a\n=== Source Location Trace: ===\n./xla/util.h:304\n"), "a");
  EXPECT_EQ(readable_reason("a\x1b[1mb\tc"), "a [1mb c");
  std::string many;
  for (int i = 0; i < 20; ++i) many += fmt::format("line {}\n", i);
  EXPECT_THAT(readable_reason(many),
              AllOf(HasSubstr("line 5"), Not(HasSubstr("line 6")), HasSubstr("…")));
  std::string accents;
  for (int i = 0; i < 3000; ++i) accents += "é";
  std::string cut = readable_reason("x" + accents);
  EXPECT_LT(cut.size(), 900u);
  EXPECT_THAT(cut, ::testing::EndsWith("é …"));
}

TEST(Code, HasTheNameOfTheInterface) {
  EXPECT_EQ(name_of(AbiCode::resource_exhausted), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(name_of(AbiCode::unauthenticated), "UNAUTHENTICATED");
  EXPECT_EQ(name_of(static_cast<AbiCode>(99)), "code 99");
  EXPECT_EQ(name_of(static_cast<AbiCode>(-1)), "code -1");
}

}  // namespace
}  // namespace bertrain
