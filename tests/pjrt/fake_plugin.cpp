// A PJRT plugin for tests: its programs give back their arguments, and what it gets wrong is the name
// of its file. A test copies it to the name it wants ("compile_oom.so") and opens it there.
#include <dlfcn.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/pjrt/abi.h"

namespace bertrain {
namespace {

std::atomic<int64_t> live = 0;  // objects that the program holds

struct Counted {
  Counted() { ++live; }
  Counted(const Counted&) = delete;
  ~Counted() { --live; }
};

// The name of this very file, without its ending.
const std::string& behaviour() {
  static const std::string name = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&behaviour), &info);
    return std::filesystem::path(info.dli_fname).stem().string();
  }();
  return name;
}
bool is(const char* what) { return behaviour() == what; }

struct Promise {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_ready = false;
  AbiCode code = AbiCode::ok;
  std::vector<std::function<void()>> callbacks;

  void set(AbiCode with) {
    std::vector<std::function<void()>> waiting;
    {
      std::lock_guard<std::mutex> lock(mutex);
      is_ready = true;
      code = with;
      waiting.swap(callbacks);
      changed.notify_all();
    }
    for (const auto& callback : waiting) callback();
  }
};

// Work that goes on behind a call; joined when the library is unloaded or the process ends.
struct Background {
  std::vector<std::thread> threads;
  std::mutex mutex;
  void start(std::function<void()> work) {
    std::lock_guard<std::mutex> lock(mutex);
    threads.emplace_back(std::move(work));
  }
  ~Background() {
    for (std::thread& thread : threads) thread.join();
  }
} background;

}  // namespace

struct AbiError : Counted {
  AbiCode code = AbiCode::unknown;
  std::string text;
};
struct AbiEvent : Counted {
  std::shared_ptr<Promise> promise;
};
struct AbiDeviceDescription {
  int32_t id;
};
struct AbiDevice {
  AbiDeviceDescription description;
};
struct AbiClient : Counted {
  std::vector<std::unique_ptr<AbiDevice>> devices;
  std::vector<AbiDevice*> pointers;
};
struct AbiBuffer : Counted {
  std::shared_ptr<std::string> bytes;
  std::shared_ptr<Promise> arrived;
};
struct AbiExecutable : Counted {};
struct AbiLoadedExecutable : Counted {
  size_t devices = 1;
};
struct AbiTopology : Counted {
  AbiDeviceDescription device{7};
  AbiDeviceDescription* pointer = &device;
};

namespace {

AbiError* failure(AbiCode code, const std::string& text) {
  auto* error = new AbiError;
  error->code = code;
  error->text = text;
  return error;
}

AbiEvent* event_of(std::shared_ptr<Promise> promise) {
  auto* event = new AbiEvent;
  event->promise = std::move(promise);
  return event;
}

AbiEvent* ready_event(AbiCode code = AbiCode::ok) {
  auto promise = std::make_shared<Promise>();
  promise->set(code);
  return event_of(promise);
}

AbiError* error_in(const Promise& promise) {
  if (promise.code == AbiCode::ok) return nullptr;
  return failure(promise.code, "it failed behind the call");
}

// ---- errors and events ----

void error_destroy(AbiErrorDestroy* a) { delete a->error; }
void error_message(AbiErrorMessage* a) {
  a->message = a->error->text.data();
  a->message_size = a->error->text.size();
}
AbiError* error_code(AbiErrorGetCode* a) {
  a->code = a->error->code;
  return nullptr;
}
AbiError* event_destroy(AbiEventDestroy* a) {
  delete a->event;
  return nullptr;
}
AbiError* event_is_ready(AbiEventIsReady* a) {
  std::lock_guard<std::mutex> lock(a->event->promise->mutex);
  a->is_ready = a->event->promise->is_ready;
  return nullptr;
}
AbiError* event_await(AbiEventAwait* a) {
  Promise& promise = *a->event->promise;
  std::unique_lock<std::mutex> lock(promise.mutex);
  promise.changed.wait(lock, [&] { return promise.is_ready; });
  return error_in(promise);
}
AbiError* event_on_ready(AbiEventOnReady* a) {
  std::shared_ptr<Promise> promise = a->event->promise;
  auto callback = [promise = promise.get(), f = a->callback, argument = a->user_arg] {
    f(error_in(*promise), argument);
  };
  std::unique_lock<std::mutex> lock(promise->mutex);
  if (!promise->is_ready) {
    promise->callbacks.emplace_back(callback);
    return nullptr;
  }
  lock.unlock();
  callback();
  return nullptr;
}

// ---- plugin, client, devices ----

AbiError* initialize(AbiPluginInitialize*) {
  return is("initialize_fails") ? failure(AbiCode::internal, "not today") : nullptr;
}
AbiError* client_create(AbiClientCreate* a) {
  if (is("no_device_here")) return failure(AbiCode::not_found, "no device found");
  if (is("busy")) return failure(AbiCode::unavailable, "another process has the device");
  bool takes_option = !is("takes_no_option");
  if (a->num_options > 0 && !takes_option) {
    return failure(AbiCode::invalid_argument, "unexpected option cpu_device_count");
  }
  int64_t count = a->num_options > 0 ? a->create_options[0].int64_value : 4;
  if (is("no_devices")) count = 0;
  auto* client = new AbiClient;
  for (int32_t i = 0; i < count; ++i) {
    client->devices.push_back(std::make_unique<AbiDevice>(AbiDevice{{10 + i}}));
    client->pointers.push_back(client->devices.back().get());
  }
  a->client = client;
  return nullptr;
}
AbiError* client_destroy(AbiClientDestroy* a) {
  delete a->client;
  return nullptr;
}
AbiError* platform_name(AbiClientPlatformName* a) {
  a->platform_name = is("takes_no_option") ? "tpu" : "cpu";
  a->platform_name_size = 3;
  return nullptr;
}
AbiError* addressable_devices(AbiClientAddressableDevices* a) {
  a->addressable_devices = a->client->pointers.data();
  a->num_addressable_devices = a->client->pointers.size();
  return nullptr;
}
AbiError* get_description(AbiDeviceGetDescription* a) {
  a->device_description = &a->device->description;
  return nullptr;
}
AbiError* description_id(AbiDeviceDescriptionId* a) {
  a->id = a->device_description->id;
  return nullptr;
}
AbiError* description_kind(AbiDeviceDescriptionKind* a) {
  a->device_kind = "fake v1";
  a->device_kind_size = 7;
  return nullptr;
}
AbiError* memory_stats(AbiDeviceMemoryStats* a) {
  if (is("silent")) return failure(AbiCode::unimplemented, "no statistics");
  a->bytes_limit = 1 << 30;
  a->bytes_limit_is_set = true;
  return nullptr;
}

// ---- buffers ----

// Copies behind the call, late: what the caller does not keep until then is gone.
AbiError* from_host(AbiClientBufferFromHostBuffer* a) {
  if (is("put_oom")) return failure(AbiCode::resource_exhausted, "out of memory");
  size_t size = a->type == AbiType::s64 ? 8 : a->type == AbiType::u8 ? 1 : 4;
  for (size_t i = 0; i < a->num_dims; ++i) size *= static_cast<size_t>(a->dims[i]);
  auto* buffer = new AbiBuffer;
  buffer->bytes = std::make_shared<std::string>(size, '\0');
  buffer->arrived = std::make_shared<Promise>();
  auto copy = [bytes = buffer->bytes, arrived = buffer->arrived, data = a->data] {
    std::memcpy(bytes->data(), data, bytes->size());
    arrived->set(is("put_fails_later") ? AbiCode::data_loss : AbiCode::ok);
  };
  if (a->host_buffer_semantics == AbiHostBuffer::immutable_only_during_call) {
    copy();
  } else {
    background.start([copy] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      copy();
    });
  }
  a->buffer = buffer;
  a->done_with_host_buffer = event_of(buffer->arrived);
  return nullptr;
}
AbiError* buffer_destroy(AbiBufferDestroy* a) {
  delete a->buffer;
  return nullptr;
}
AbiError* to_host(AbiBufferToHostBuffer* a) {
  Promise& arrived = *a->src->arrived;
  std::unique_lock<std::mutex> lock(arrived.mutex);
  arrived.changed.wait(lock, [&] { return arrived.is_ready; });
  if (a->dst_size < a->src->bytes->size()) {
    return failure(AbiCode::invalid_argument, "too small");
  }
  std::memcpy(a->dst, a->src->bytes->data(), a->src->bytes->size());
  a->event = ready_event(arrived.code);
  return nullptr;
}

// ---- programs ----

AbiError* compile_failure() {
  if (is("compile_oom")) return failure(AbiCode::resource_exhausted, "needs 48G of 16G");
  if (!is("long_error")) return nullptr;
  std::string text = "-:3:10: error: no such operation\n\x1b[1mcoloured\x1b[0m\n";
  for (int i = 0; i < 50; ++i) text += "    @     0x7f0123456789  frame\n";
  for (int i = 0; i < 50; ++i) text += "another line of it\n";
  return failure(AbiCode::invalid_argument, text);
}
AbiError* compile(AbiClientCompile* a) {
  if (AbiError* error = compile_failure()) return error;
  a->executable = new AbiLoadedExecutable;
  return nullptr;
}
AbiError* loaded_destroy(AbiLoadedExecutableDestroy* a) {
  delete a->executable;
  return nullptr;
}
AbiError* get_executable(AbiLoadedExecutableGetExecutable* a) {
  a->executable = new AbiExecutable;
  return nullptr;
}
AbiError* executable_destroy(AbiExecutableDestroy* a) {
  delete a->executable;
  return nullptr;
}
AbiError* num_outputs(AbiExecutableNumOutputs* a) {
  a->num_outputs = 1;
  return nullptr;
}
AbiError* execute(AbiLoadedExecutableExecute* a) {
  if (is("run_oom")) return failure(AbiCode::resource_exhausted, "out of memory");
  if (is("run_aborted")) return failure(AbiCode::aborted, "a peer went away");
  for (size_t d = 0; d < a->num_devices; ++d) {
    auto* made = new AbiBuffer;
    made->bytes = a->argument_lists[d][0]->bytes;
    made->arrived = a->argument_lists[d][0]->arrived;
    a->output_lists[d][0] = made;
    a->device_complete_events[d] =
        ready_event(is("run_fails_later") ? AbiCode::internal : AbiCode::ok);
  }
  return nullptr;
}
AbiError* compiled_memory(AbiExecutableGetCompiledMemoryStats* a) {
  a->argument_size_in_bytes = 100;
  a->output_size_in_bytes = 60;
  a->alias_size_in_bytes = 50;
  a->temp_size_in_bytes = 40;
  a->generated_code_size_in_bytes = 7;
  return nullptr;
}
AbiError* cost(AbiExecutableGetCostAnalysis* a) {
  static AbiNamedValue values[2] = {};
  const char* names[] = {"flops", "bytes accessed"};
  for (int i = 0; i < 2; ++i) {
    values[i].name = names[i];
    values[i].name_size = std::strlen(names[i]);
    values[i].type = AbiValueKind::f32;
    values[i].float_value = static_cast<float>(1000 * (i + 1));
  }
  a->num_properties = 2;
  a->properties = values;
  return nullptr;
}

// A module of one computation with two adds and a fusion.
AbiError* optimized(AbiExecutableOptimizedProgram* a) {
  static const std::string text =
      "\x0a\x19\x1a\x17\x12\x05\x12\x03"
      "add\x12\x05\x12\x03"
      "add\x12\x07\x12\x05"
      "fused";
  a->program->code_size = is("torn_program") ? text.size() - 3 : text.size();
  if (a->program->code != nullptr)
    std::memcpy(a->program->code, text.data(), a->program->code_size);
  a->program->format = "hlo_with_config";
  a->program->format_size = 15;
  return nullptr;
}

// ---- topologies ----

AbiError* topology_create(AbiTopologyCreate* a) {
  if (std::string(a->topology_name, a->topology_name_size) != "v9:1x1") {
    return failure(AbiCode::invalid_argument, "no such topology");
  }
  a->topology = new AbiTopology;
  return nullptr;
}
AbiError* topology_destroy(AbiTopologyDestroy* a) {
  delete a->topology;
  return nullptr;
}
AbiError* topology_devices(AbiTopologyGetDeviceDescriptions* a) {
  a->descriptions = &a->topology->pointer;
  a->num_descriptions = 1;
  return nullptr;
}
AbiError* compile_for(AbiCompile* a) {
  if (AbiError* error = compile_failure()) return error;
  a->executable = new AbiExecutable;
  return nullptr;
}

struct Table {
  AbiTable head;
  void* functions[100];
  template <class Result, class Args>
  void set(Result (*function)(Args*)) {
    functions[(Args::kFunction.offset - sizeof head) / sizeof(void*)] =
        reinterpret_cast<void*>(function);
  }
};

Table make_table() {
  Table t{};
  t.head.head.struct_size = sizeof t;
  t.head.minor_version = 99;
  t.set(error_destroy), t.set(error_message), t.set(error_code);
  t.set(event_destroy), t.set(event_await);
  if (!is("lacks_is_ready")) t.set(event_is_ready);
  if (!is("lacks_on_ready")) t.set(event_on_ready);
  t.set(initialize), t.set(client_create), t.set(client_destroy);
  t.set(platform_name), t.set(addressable_devices), t.set(get_description);
  t.set(description_id), t.set(description_kind), t.set(memory_stats);
  t.set(from_host), t.set(buffer_destroy), t.set(to_host);
  t.set(loaded_destroy), t.set(get_executable), t.set(executable_destroy), t.set(num_outputs);
  t.set(execute), t.set(compiled_memory);
  t.set(topology_create), t.set(topology_destroy);
  t.set(topology_devices), t.set(compile_for);
  if (!is("lacks_compile")) t.set(compile);
  if (!is("silent")) t.set(cost), t.set(optimized);
  if (is("other_major")) t.head.major_version = 1;
  if (is("short_table")) t.head.head.struct_size = 16;
  if (is("old_table")) t.head.head.struct_size = AbiCompile::kFunction.offset;
  return t;
}

}  // namespace
}  // namespace bertrain

extern "C" const void* GetPjrtApi() {
  static bertrain::Table table = bertrain::make_table();
  return bertrain::is("no_table") ? nullptr : &table;
}

extern "C" int64_t fake_live_objects() { return bertrain::live; }
