// Runs a program: hands its arguments over, takes its results and watches what is under way.
#include "backend/pjrt/executable.h"

#include <algorithm>
#include <utility>

#include "backend/pjrt/call.h"
#include "backend/pjrt/client.h"

namespace bertrain {
namespace {

// Runs that may be under way at once, the newest among them: one that computes and one that waits for
// it. More would hold memory of the device without making it any busier.
constexpr size_t kAhead = 2;

constexpr const char* kExecute = AbiLoadedExecutableExecute::kFunction.name;

uint64_t at_least_zero(int64_t bytes) { return static_cast<uint64_t>(std::max<int64_t>(bytes, 0)); }

}  // namespace

AbiProgram program_of(std::string_view stablehlo) {
  constexpr std::string_view kFormat = "mlir";
  AbiProgram program{};
  program.head.struct_size = sizeof program;
  program.code = const_cast<char*>(stablehlo.data());  // only read
  program.code_size = stablehlo.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  return program;
}

ProgramFacts facts_of(const PjrtPlugin& plugin, AbiExecutable* executable) {
  ProgramFacts facts;
  AbiExecutableGetCompiledMemoryStats memory{};
  memory.executable = executable;
  if (call_where_offered(plugin, memory)) {
    facts.arguments = at_least_zero(memory.argument_size_in_bytes);
    facts.temporary = at_least_zero(memory.temp_size_in_bytes);
    facts.code = at_least_zero(memory.generated_code_size_in_bytes);
    // Some plugins leave temporaries or arguments out of the peak.
    int64_t held = memory.argument_size_in_bytes + memory.output_size_in_bytes -
                   memory.alias_size_in_bytes + memory.temp_size_in_bytes;
    facts.peak = at_least_zero(std::max(memory.peak_memory_in_bytes, held));
  }
  AbiExecutableGetCostAnalysis cost{};
  cost.executable = executable;
  if (call_where_offered(plugin, cost)) {
    for (size_t i = 0; i < cost.num_properties; ++i) {
      const AbiNamedValue& property = cost.properties[i];
      if (property.type != AbiValueKind::f32) continue;
      std::string_view name(property.name, property.name_size);
      if (name == "flops") facts.flops = property.float_value;
      if (name == "bytes accessed") facts.bytes = property.float_value;
    }
  }
  return facts;
}

PjrtExecutable::PjrtExecutable(std::shared_ptr<const PjrtClient> client,
                               AbiLoadedExecutable* loaded, const CompileFlags& flags,
                               double compile_seconds)
    : client_(std::move(client)),
      loaded_(loaded),
      replicas_(static_cast<size_t>(flags.replicas)),
      compile_seconds_(compile_seconds) {
  AbiLoadedExecutableGetExecutable args{};
  args.loaded_executable = loaded_;
  call(client_->plugin(), args);
  executable_ = args.executable;
}

PjrtExecutable::~PjrtExecutable() {
  running_.clear();
  if (executable_ != nullptr) {
    AbiExecutableDestroy destroy{};
    destroy.executable = executable_;
    give_back(client_->plugin(), destroy);
  }
  AbiLoadedExecutableDestroy destroy{};
  destroy.executable = loaded_;
  give_back(client_->plugin(), destroy);
}

// Waits until at most `allowed` runs are under way, and throws the error of one that is over.
void PjrtExecutable::settle(size_t allowed) {
  while (!running_.empty()) {
    std::vector<PjrtEvent>& oldest = running_.front();
    bool is_over = std::all_of(oldest.begin(), oldest.end(),
                               [](const PjrtEvent& event) { return event.is_ready(); });
    if (!is_over && running_.size() <= allowed) return;
    std::vector<PjrtEvent> events = std::move(oldest);
    running_.pop_front();
    for (const PjrtEvent& event : events) event.wait(kExecute);
  }
}

void PjrtExecutable::wait() { settle(0); }

// What the text returns must be what the caller takes it for: bytes are read by these types.
void PjrtExecutable::check_types(const std::vector<ArrayType>& types) const {
  const PjrtPlugin& plugin = client_->plugin();
  AbiExecutableNumOutputs outputs{};
  outputs.executable = executable_;
  call(plugin, outputs);
  check(outputs.num_outputs == types.size(),
        fmt::format("a program of {} results is run for {}", outputs.num_outputs, types.size()));
  AbiExecutableOutputElementTypes elements{};
  elements.executable = executable_;
  if (!call_where_offered(plugin, elements)) return;
  AbiExecutableOutputDimensions dims{};
  dims.executable = executable_;
  if (!call_where_offered(plugin, dims)) return;
  const int64_t* dim = dims.dims;
  for (size_t i = 0; i < types.size(); ++i) {
    Shape shape(dim, dim + dims.dim_sizes[i]);
    dim += dims.dim_sizes[i];
    check(elements.output_types[i] == abi_type(types[i].dtype) && shape == types[i].shape,
          fmt::format("result {} of a program is {}, taken for {}", i, to_string(shape),
                      to_string(types[i])));
  }
}

std::vector<PjrtBuffers> PjrtExecutable::run(const std::vector<std::vector<PjrtBuffer*>>& arguments,
                                             const std::vector<ArrayType>& types) {
  check(arguments.size() == replicas_, "a program is run on as many devices as it has replicas");
  if (!types_checked_) check_types(types);
  types_checked_ = true;
  settle(kAhead - 1);

  size_t count = arguments[0].size(), results = types.size();
  given_.clear();
  for (const std::vector<PjrtBuffer*>& of_device : arguments) {
    check(of_device.size() == count, "as many arguments on every device");
    for (const PjrtBuffer* argument : of_device) {
      check(!argument->is_dead(), "an argument is values that a run has consumed");
      given_.push_back(argument->handle());
    }
  }
  made_.assign(replicas_ * results, nullptr);
  given_by_device_.clear();
  made_by_device_.clear();
  for (size_t d = 0; d < replicas_; ++d) {
    given_by_device_.push_back(given_.data() + d * count);
    made_by_device_.push_back(made_.data() + d * results);
  }
  events_.assign(replicas_, nullptr);

  AbiExecuteOptions options{};
  options.head.struct_size = sizeof options;
  AbiLoadedExecutableExecute args{};
  args.executable = loaded_;
  args.options = &options;
  args.argument_lists = given_by_device_.data();
  args.num_devices = replicas_;
  args.num_args = count;
  args.output_lists = made_by_device_.data();
  args.device_complete_events = events_.data();
  call(client_->plugin(), args);

  std::vector<PjrtEvent>& events = running_.emplace_back();
  events.reserve(replicas_);
  for (AbiEvent* event : events_) events.emplace_back(client_->plugin(), event);
  std::vector<PjrtBuffers> made(replicas_);
  for (size_t d = 0; d < replicas_; ++d) {
    made[d].reserve(results);
    for (size_t i = 0; i < results; ++i) {
      made[d].push_back(std::make_unique<PjrtBuffer>(client_, made_by_device_[d][i], types[i]));
    }
  }
  return made;
}

ProgramFacts PjrtExecutable::facts() const {
  ProgramFacts facts = facts_of(client_->plugin(), executable_);
  facts.compile_seconds = compile_seconds_;
  return facts;
}

}  // namespace bertrain
