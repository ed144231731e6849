// Describes hardware to a plugin and compiles for it.
#include "backend/pjrt/topology.h"

#include <utility>

#include "backend/pjrt/call.h"
#include "backend/pjrt/compile.h"
#include "backend/pjrt/xla_messages.h"
#include "base/quote.h"

namespace bertrain {
namespace {

// The optimized program's operations; none where the plugin does not give it.
Named<int64_t> operations_in(const PjrtPlugin& plugin, AbiExecutable* executable) {
  AbiProgram program{};
  program.head.struct_size = sizeof program;
  AbiExecutableOptimizedProgram args{};
  args.executable = executable;
  args.program = &program;
  if (!call_where_offered(plugin, args)) return {};
  std::string code(program.code_size, '\0');
  program.code = code.data();
  if (!call_where_offered(plugin, args)) return {};
  return operations_of(std::string_view(code).substr(0, program.code_size),
                       {program.format, program.format_size});
}

}  // namespace

std::shared_ptr<PjrtTopology> PjrtTopology::open(
    const std::string& path, const std::string& name,
    const std::map<std::string, std::string>& options) {
  keep_libtpu_from_looking_around();
  std::shared_ptr<PjrtTopology> topology(new PjrtTopology(PjrtPlugin::open(path)));
  const PjrtPlugin& plugin = *topology->plugin_;
  std::vector<AbiNamedValue> values;
  for (const auto& [key, text] : options) {
    AbiNamedValue& value = values.emplace_back();
    value = {};
    value.head.struct_size = sizeof value;
    value.name = key.data();
    value.name_size = key.size();
    value.type = AbiValueKind::string;
    value.string_value = text.data();
    value.value_size = text.size();
  }
  AbiTopologyCreate args{};
  args.topology_name = name.data();
  args.topology_name_size = name.size();
  args.create_options = values.data();
  args.num_options = values.size();
  Failure failure = attempt(plugin, args);
  if (failure) {
    throw usage_error("the plugin {} has no hardware by the name of {}: {}", quote(path),
                      quote(name), failure.take().what());
  }
  topology->topology_ = args.topology;

  AbiTopologyGetDeviceDescriptions devices{};
  devices.topology = args.topology;
  call(plugin, devices);
  for (size_t i = 0; i < devices.num_descriptions; ++i) {
    AbiDeviceDescriptionId id{};
    id.device_description = devices.descriptions[i];
    call(plugin, id);
    topology->ids_.push_back(id.id);
  }
  return topology;
}

PjrtTopology::~PjrtTopology() {
  if (topology_ == nullptr) return;
  AbiTopologyDestroy destroy{};
  destroy.topology = topology_;
  give_back(*plugin_, destroy);
}

PjrtTopology::Compiled PjrtTopology::compile(std::string_view stablehlo,
                                             const CompileFlags& flags) {
  AbiCompile args{};
  args.topology = topology_;
  double seconds = compile_text(*plugin_, args, stablehlo, ids_, flags);

  struct Owner {
    const PjrtPlugin& plugin;
    AbiExecutable* executable;
    ~Owner() {
      AbiExecutableDestroy destroy{};
      destroy.executable = executable;
      give_back(plugin, destroy);
    }
  } owner{*plugin_, args.executable};
  Compiled compiled{facts_of(*plugin_, args.executable), operations_in(*plugin_, args.executable)};
  compiled.facts.compile_seconds = seconds;
  return compiled;
}

}  // namespace bertrain
