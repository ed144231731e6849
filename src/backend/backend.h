// What runs a recording: compile a Graph once, run it many times. The whole interface that a device
// needs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/array.h"
#include "base/error.h"
#include "dist/communicator.h"
#include "tensor/graph.h"

namespace bertrain {

class DeviceArray {
 public:
  virtual ~DeviceArray() = default;
  virtual const ArrayType& type() const = 0;  // of this process's part
};
using DeviceArrays = Named<std::shared_ptr<DeviceArray>>;

// Adds those arrays; a logic_error where one is not there, or is given already.
inline void add_arrays(const DeviceArrays& from, const std::vector<std::string>& names,
                       DeviceArrays& into) {
  for (const std::string& name : names) {
    auto found = from.find(name);
    check(found != from.end(), "no state is named " + name);
    check(into.insert(*found).second, name + " is of the state and given beside it");
  }
}

// Values that stay on the devices from run to run (parameters, optimizer slots), by name, each equal
// on every replica; for programs of the backend that made it. This class keeps them as arrays, a
// backend's own may keep them as its programs take them. For one thread.
class DeviceState {
 public:
  virtual ~DeviceState() = default;
  // As the last update left them; valid until the next, or until set().
  virtual const DeviceArrays& arrays() { return arrays_; }
  virtual void set(const std::string& name, std::shared_ptr<DeviceArray> array) {
    arrays_[name] = std::move(array);
  }

 protected:
  DeviceArrays arrays_;
};

struct ProgramFacts {
  uint64_t arguments = 0, temporary = 0, peak = 0, code = 0;  // bytes
  double flops = 0, bytes = 0;  // arithmetic and traffic of a run; 0: not known
  double compile_seconds = 0;
  Named<int64_t> operations;  // of the compiled program, by the compiler's names; may be empty
};

class Program {
 public:
  virtual ~Program() = default;
  // Inputs by name, every one of the graph's (more are an Error); outputs by name. An output that
  // carries an input's name takes its memory: that input array is dead for every holder, and `get`
  // on it is a check failure. May return before the values are ready.
  virtual DeviceArrays run(DeviceArrays inputs) = 0;
  // Sends what of a run's inputs still waits to be, as this program takes them; some may be missing.
  // May be called while another run is under way; a run sends itself what was not sent.
  virtual void send_ahead(const DeviceArrays&) {}
  // run() on `inputs` and on the state's values named in `from_state`, which is the same at each call
  // of one program. Outputs with a name of these take their place; the others are returned. Where it
  // throws before the run, the state is as it was; where a run failed later, `get` of its values
  // throws.
  virtual DeviceArrays update(DeviceState& state, const std::vector<std::string>& from_state,
                              DeviceArrays inputs) {
    add_arrays(state.arrays(), from_state, inputs);
    DeviceArrays outputs = run(std::move(inputs));
    for (const std::string& name : from_state) {
      auto output = outputs.find(name);
      if (output == outputs.end()) continue;
      state.set(name, std::move(output->second));
      outputs.erase(output);
    }
    return outputs;
  }
  virtual ProgramFacts facts() const = 0;
  virtual Named<double> profile(DeviceArrays inputs) = 0;  // seconds by op name, of one run
};

struct BackendOptions {
  int threads = 0;                       // 0: as many as the cgroup and the machine allow
  uint64_t memory = 0;                   // bytes; 0: 80 % of the cgroup's or machine's limit
  Communicator* communicator = nullptr;  // null: one process
  // Called between kernels for as long as a run has overwritten nothing that it was given; what it
  // throws ends the run. What a plugin compiled runs whole: called before it does.
  std::function<void()> between_calls;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Devices of this process, each of which runs every program at once on its own part: a Graph's
  // shapes are those of one. `put` and `get` of Placement::split are of all parts, joined along axis
  // 0; those of Placement::replicate are equal on every replica, but for outputs that only the next
  // program takes (sums over a replica's micro-batches).
  virtual int replicas() const = 0;
  // Devices and compiler with their versions, where those decide bits; "": the program's own code.
  virtual std::string description() const { return ""; }
  virtual int64_t row_slots(int64_t max_sequence) const = 0;  // S of a row; 0 = one long row
  // Bytes that programs may have of one device's own memory; 0: not known, or the machine's.
  virtual uint64_t device_memory() const { return 0; }
  virtual bool takes(const Node& node) const = 0;  // composites run whole; the rest arrive expanded
  // expands what it does not take
  virtual std::unique_ptr<Program> compile(const Graph& graph) = 0;
  // without values
  virtual std::unique_ptr<DeviceState> make_state() { return std::make_unique<DeviceState>(); }
  virtual std::shared_ptr<DeviceArray> put(const Array& value, Placement placement) = 0;
  virtual Array get(const DeviceArray& value) = 0;  // waits; split parts are concatenated in order
};

// backend/reference: runs its replicas one after the other; `row_slots`: see Backend.
std::unique_ptr<Backend> make_reference_backend(int replicas = 1, bool short_rows = false);
std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options);  // backend/cpu

// What to open, or to compile for, through a PJRT plugin.
struct PluginTarget {
  std::string path;  // of the shared object
  std::string kind;  // "cpu", "gpu" or "tpu", if it has to be for that
  int devices = 0;   // replicas; 0: all that there are (one where the plugin is for the CPU)
  // Absent: the devices of this machine. Else the plugin's name of hardware that is not here
  // ("v3:2x2", empty for a GPU), and what it wants to know of it: programs are compiled, and cannot
  // run.
  std::optional<std::string> topology;
  std::map<std::string, std::string> topology_options;
  std::optional<int64_t> least_turns;  // loops of fewer layers are unrolled; 0: all are
};
// backend/plugin. Throws Error or a usage error that names the plugin and what it said.
std::unique_ptr<Backend> make_plugin_backend(const PluginTarget& target,
                                             const BackendOptions& options);

}  // namespace bertrain
