// The backend behind a plugin: one StableHLO module per program, one replica per device.
#include "backend/pjrt/topology.h"
#include "backend/plugin/program.h"
#include "backend/plugin/state.h"
#include "base/error.h"

namespace bertrain {
namespace {

Graph expanded(const Graph& graph) {
  return expand(graph, [](const Node& node) { return is_emitted(node); });
}

class PjrtBackend : public Backend {
 public:
  PjrtBackend(const PluginTarget& target, const BackendOptions& options)
      : least_turns_(target.least_turns.value_or(ModuleOptions{}.least_turns)),
        shelf_(std::make_shared<Shelf>(PjrtClient::open({target.path, target.devices}))),
        before_run_(options.between_calls) {
    check(options.communicator == nullptr || options.communicator->size() == 1,
          "a plugin sums over its own devices only, not over ranks");
    std::string platform = shelf_->client().platform();
    std::string kind = platform == "cuda" || platform == "rocm" ? "gpu" : platform;
    if (!target.kind.empty() && target.kind != kind) {
      throw usage_error("{} is a plugin for {}, not for {}", target.path, platform, target.kind);
    }
  }

  int replicas() const override { return shelf_->devices(); }
  std::string description() const override { return shelf_->client().description(); }
  int64_t row_slots(int64_t max_sequence) const override { return max_sequence; }
  uint64_t device_memory() const override { return shelf_->client().device_memory(); }
  bool takes(const Node& node) const override { return is_emitted(node); }

  std::unique_ptr<Program> compile(const Graph& graph) override {
    return std::make_unique<PjrtProgram>(expanded(graph), ModuleOptions{replicas(), least_turns_},
                                         shelf_, layouts_, before_run_);
  }
  std::unique_ptr<DeviceState> make_state() override { return std::make_unique<PjrtState>(shelf_); }
  std::shared_ptr<DeviceArray> put(const Array& value, Placement placement) override {
    return shelf_->put(value, placement);
  }
  Array get(const DeviceArray& value) override {
    const auto* own = dynamic_cast<const PjrtArray*>(&value);
    check(own != nullptr, "an array of another backend");
    return shelf_->get(*own);
  }

 private:
  int64_t least_turns_;
  std::shared_ptr<Shelf> shelf_;
  std::shared_ptr<StateLayouts> layouts_ = std::make_shared<StateLayouts>();
  std::function<void()> before_run_;
};

// Hardware that is not there: programs compile, and say what they would need.
class CompiledOnly : public Program {
 public:
  CompiledOnly(PjrtTopology::Compiled compiled, const Counts& counts)
      : facts_(counts.in(compiled.facts)) {
    facts_.operations = std::move(compiled.operations);
  }
  DeviceArrays run(DeviceArrays) override {
    throw error("a program for hardware that is not here can be compiled, but not run");
  }
  ProgramFacts facts() const override { return facts_; }
  Named<double> profile(DeviceArrays) override { return run({}), Named<double>{}; }

 private:
  ProgramFacts facts_;
};

class TopologyBackend : public Backend {
 public:
  TopologyBackend(const PluginTarget& target)
      : least_turns_(target.least_turns.value_or(ModuleOptions{}.least_turns)),
        replicas_(target.devices),
        topology_(PjrtTopology::open(target.path, *target.topology, target.topology_options)) {
    if (replicas_ == 0) replicas_ = topology_->devices();
  }

  int replicas() const override { return replicas_; }
  int64_t row_slots(int64_t max_sequence) const override { return max_sequence; }
  bool takes(const Node& node) const override { return is_emitted(node); }

  std::unique_ptr<Program> compile(const Graph& graph) override {
    Graph emitted = expanded(graph);
    Module module = emit_module(emitted, {replicas_, least_turns_});
    return std::make_unique<CompiledOnly>(topology_->compile(module.text, {replicas_}),
                                          Counts(emitted, module));
  }
  std::shared_ptr<DeviceArray> put(const Array&, Placement) override {
    throw error("there is no such hardware here: programs for it can only be compiled");
  }
  Array get(const DeviceArray&) override {
    throw error("there is no such hardware here: programs for it can only be compiled");
  }

 private:
  int64_t least_turns_;
  int replicas_;
  std::shared_ptr<PjrtTopology> topology_;
};

}  // namespace

std::unique_ptr<Backend> make_plugin_backend(const PluginTarget& target,
                                             const BackendOptions& options) {
  if (target.topology) return std::make_unique<TopologyBackend>(target);
  return std::make_unique<PjrtBackend>(target, options);
}

}  // namespace bertrain
