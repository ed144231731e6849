// Makes a client, asks for its devices, sends values to them.
#include "backend/pjrt/client.h"

#include <utility>

#include "backend/pjrt/call.h"
#include "backend/pjrt/compile.h"
#include "backend/pjrt/event.h"
#include "base/quote.h"

namespace bertrain {
namespace {

constexpr std::string_view kCpuDevices = "cpu_device_count";  // what a CPU plugin calls it

// Shorter values are copied by the call itself: cheaper than being called back.
constexpr size_t kCopiedAtOnce = 64 << 10;

// The bytes of a transfer in the background. Not the client: its last owner must not be a thread of
// its own, which it would wait for.
struct Transfer {
  const PjrtPlugin* plugin;  // never closed
  std::shared_ptr<const std::byte[]> bytes;
};

// From a thread of the plugin's; what failed is told by the buffer when it is used.
void end_transfer(AbiError* error, void* argument) noexcept {
  std::unique_ptr<Transfer> transfer(static_cast<Transfer*>(argument));
  Failure failure(*transfer->plugin, error, "");
}

// Keeps the bytes until the plugin is done with them: it calls back, or, where it cannot, is waited
// for. After an Error they stay for good, for nothing then tells when they are read no more.
void keep_until_done(const PjrtPlugin& plugin, const PjrtEvent& done,
                     std::shared_ptr<const std::byte[]> bytes) {
  auto* transfer = new Transfer{&plugin, std::move(bytes)};
  bool is_called_back = false;
  try {
    if (!done.is_ready()) {
      done.on_ready(end_transfer, transfer);
      is_called_back = true;
    }
  } catch (const Error&) {
    done.wait(AbiClientBufferFromHostBuffer::kFunction.name);
  }
  if (!is_called_back) delete transfer;
}

}  // namespace

std::shared_ptr<PjrtClient> PjrtClient::open(const PjrtOptions& options) {
  check(options.devices >= 0, "a number of devices below 0");
  std::shared_ptr<PjrtClient> client(new PjrtClient(PjrtPlugin::open(options.path)));
  client->create(options);
  client->find_devices(options);
  return client;
}

// Nothing but its answer tells a CPU plugin from others: they refuse the option as one they do not
// know, before they look for devices.
void PjrtClient::create(const PjrtOptions& options) {
  AbiNamedValue count{};
  count.head.struct_size = sizeof count;
  count.name = kCpuDevices.data();
  count.name_size = kCpuDevices.size();
  count.type = AbiValueKind::int64;
  count.int64_value = options.devices == 0 ? 1 : options.devices;
  count.value_size = 1;
  AbiClientCreate args{};
  args.create_options = &count;
  args.num_options = 1;
  {
    Failure failure = attempt(*plugin_, args);
    client_ = args.client;
    if (!failure) return;
    if (failure.code() != AbiCode::invalid_argument) throw failure.take();
  }
  args = {};
  call(*plugin_, args);
  client_ = args.client;
}

void PjrtClient::find_devices(const PjrtOptions& options) {
  AbiClientAddressableDevices found{};
  found.client = client_;
  call(*plugin_, found);
  size_t wanted =
      options.devices == 0 ? found.num_addressable_devices : static_cast<size_t>(options.devices);
  if (found.num_addressable_devices == 0) {
    throw error("the plugin {} finds no device on this machine", quote(options.path));
  }
  if (wanted > found.num_addressable_devices) {
    throw usage_error("{} devices are asked for, the plugin {} has {}", wanted, quote(options.path),
                      found.num_addressable_devices);
  }
  devices_.assign(found.addressable_devices, found.addressable_devices + wanted);
  for (AbiDevice* device : devices_) {
    AbiDeviceDescriptionId id{};
    id.device_description = description_of(device);
    call(*plugin_, id);
    ids_.push_back(id.id);
  }
}

PjrtClient::~PjrtClient() {
  if (client_ == nullptr) return;
  AbiClientDestroy destroy{};
  destroy.client = client_;
  give_back(*plugin_, destroy);
}

AbiDeviceDescription* PjrtClient::description_of(AbiDevice* device) const {
  AbiDeviceGetDescription args{};
  args.device = device;
  call(*plugin_, args);
  return args.device_description;
}

std::string PjrtClient::platform() const {
  AbiClientPlatformName args{};
  args.client = client_;
  call(*plugin_, args);
  return {args.platform_name, args.platform_name_size};
}

std::string PjrtClient::device_kind() const {
  AbiDeviceDescriptionKind args{};
  args.device_description = description_of(devices_[0]);
  if (!call_where_offered(*plugin_, args)) return platform();
  return {args.device_kind, args.device_kind_size};
}

std::string PjrtClient::description() const {
  AbiClientPlatformVersion version{};
  version.client = client_;
  std::string text = fmt::format("{} x {}, platform {}", devices(), device_kind(), platform());
  if (call_where_offered(*plugin_, version)) {
    text += fmt::format(", version {}",
                        readable_reason({version.platform_version, version.platform_version_size}));
  }
  return text + fmt::format(", PJRT API {}", plugin_->api_version());
}

uint64_t PjrtClient::device_memory() const {
  AbiDeviceMemoryStats args{};
  args.device = devices_[0];
  if (!call_where_offered(*plugin_, args) || !args.bytes_limit_is_set) return 0;
  return static_cast<uint64_t>(std::max<int64_t>(args.bytes_limit, 0));
}

std::unique_ptr<PjrtExecutable> PjrtClient::compile(std::string_view stablehlo,
                                                    const CompileFlags& flags) {
  AbiClientCompile args{};
  args.client = client_;
  double seconds = compile_text(*plugin_, args, stablehlo, ids_, flags);
  return std::make_unique<PjrtExecutable>(shared_from_this(), args.executable, flags, seconds);
}

std::unique_ptr<PjrtBuffer> PjrtClient::put(const Array& value, int device) {
  check(device >= 0 && device < devices(), "values for a device that is not there");
  size_t bytes = value.byte_size();
  AbiClientBufferFromHostBuffer args{};
  args.client = client_;
  args.data = value.bytes.get();
  args.type = abi_type(value.type.dtype);
  args.dims = value.type.shape.data();
  args.num_dims = value.type.shape.size();
  args.host_buffer_semantics = bytes <= kCopiedAtOnce
                                   ? AbiHostBuffer::immutable_only_during_call
                                   : AbiHostBuffer::immutable_until_transfer_completes;
  args.device = devices_[static_cast<size_t>(device)];
  call(*plugin_, args);
  auto buffer = std::make_unique<PjrtBuffer>(shared_from_this(), args.buffer, value.type);
  PjrtEvent done(*plugin_, args.done_with_host_buffer);
  if (bytes > kCopiedAtOnce) keep_until_done(*plugin_, done, value.bytes);
  return buffer;
}

}  // namespace bertrain
