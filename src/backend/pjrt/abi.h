// The binary interface of a PJRT plugin, as far as this program uses it: where its functions lie
// and how their arguments do.
//
// A plugin exports `GetPjrtApi`, which gives a table: its size, its version, then pointers to
// functions, 8 bytes each, in an order to which new ones are only appended. Every function takes
// one struct that begins with its own size, so that fields can be appended too, and returns null or
// an error. Offsets are those of every version from 0.81 on; tests/pjrt/abi compares them with the
// published header where that is at hand. 64-bit machines only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bertrain {

static_assert(sizeof(void*) == 8, "PJRT's tables are declared for 64-bit machines");

struct AbiHead {
  size_t struct_size;
  void* extension_start;  // a list of extensions; none is used
};

// What begins the table; the functions follow.
struct AbiTable {
  AbiHead head;
  AbiHead version_head;
  int32_t major_version, minor_version;
};
static_assert(sizeof(AbiTable) == 40);

struct AbiFunction {
  size_t offset;  // in the table
  const char* name;
};

// Objects of the plugin, only ever held by pointer.
struct AbiError;
struct AbiEvent;
struct AbiClient;
struct AbiDevice;
struct AbiDeviceDescription;
struct AbiMemory;
struct AbiTopology;
struct AbiExecutable;        // a compiled program
struct AbiLoadedExecutable;  // the same on devices
struct AbiBuffer;

enum class AbiCode : int32_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

enum class AbiType : int32_t {  // of a buffer's elements
  invalid = 0,
  pred = 1,
  s32 = 4,
  s64 = 5,
  u8 = 6,
  u32 = 8,
  f16 = 10,
  f32 = 11,
  bf16 = 13,
};

// ---- errors and events ----

struct AbiErrorDestroy {
  static constexpr AbiFunction kFunction{40, "PJRT_Error_Destroy"};
  AbiHead head;
  AbiError* error;
};
struct AbiErrorMessage {
  static constexpr AbiFunction kFunction{48, "PJRT_Error_Message"};
  AbiHead head;
  const AbiError* error;
  const char* message;  // out, lives as long as the error
  size_t message_size;
};
struct AbiErrorGetCode {
  static constexpr AbiFunction kFunction{56, "PJRT_Error_GetCode"};
  AbiHead head;
  const AbiError* error;
  AbiCode code;  // out
};

struct AbiEventDestroy {
  static constexpr AbiFunction kFunction{80, "PJRT_Event_Destroy"};
  AbiHead head;
  AbiEvent* event;
};
struct AbiEventIsReady {
  static constexpr AbiFunction kFunction{88, "PJRT_Event_IsReady"};
  AbiHead head;
  AbiEvent* event;
  bool is_ready;  // out
};
struct AbiEventAwait {  // returns the event's error
  static constexpr AbiFunction kFunction{104, "PJRT_Event_Await"};
  AbiHead head;
  AbiEvent* event;
};
struct AbiEventOnReady {  // calls from any thread, also before it returns
  static constexpr AbiFunction kFunction{112, "PJRT_Event_OnReady"};
  AbiHead head;
  AbiEvent* event;
  void (*callback)(AbiError* error, void* user_arg);  // the error is the callee's
  void* user_arg;
};

// ---- the plugin ----

enum class AbiValueKind : int32_t { string = 0, int64 = 1, int64_list = 2, f32 = 3, boolean = 4 };

struct AbiNamedValue {
  AbiHead head;
  const char* name;
  size_t name_size;
  AbiValueKind type;
  union {
    const char* string_value;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;  // of a string or list; else 1
};

struct AbiPluginInitialize {
  static constexpr AbiFunction kFunction{64, "PJRT_Plugin_Initialize"};
  AbiHead head;
};
// ---- client and devices ----

struct AbiClientCreate {
  static constexpr AbiFunction kFunction{120, "PJRT_Client_Create"};
  AbiHead head;
  const AbiNamedValue* create_options;
  size_t num_options;
  void* kv_get_callback;  // for processes that find each other: unused
  void* kv_get_user_arg;
  void* kv_put_callback;
  void* kv_put_user_arg;
  AbiClient* client;  // out
  void* kv_try_get_callback;
  void* kv_try_get_user_arg;
};
struct AbiClientDestroy {
  static constexpr AbiFunction kFunction{128, "PJRT_Client_Destroy"};
  AbiHead head;
  AbiClient* client;
};
struct AbiClientPlatformName {
  static constexpr AbiFunction kFunction{136, "PJRT_Client_PlatformName"};
  AbiHead head;
  AbiClient* client;
  const char* platform_name;  // out
  size_t platform_name_size;
};
struct AbiClientPlatformVersion {
  static constexpr AbiFunction kFunction{152, "PJRT_Client_PlatformVersion"};
  AbiHead head;
  AbiClient* client;
  const char* platform_version;  // out
  size_t platform_version_size;
};
struct AbiClientAddressableDevices {
  static constexpr AbiFunction kFunction{168, "PJRT_Client_AddressableDevices"};
  AbiHead head;
  AbiClient* client;
  AbiDevice* const* addressable_devices;  // out
  size_t num_addressable_devices;
};
struct AbiProgram {
  AbiHead head;
  char* code;
  size_t code_size;
  const char* format;  // "mlir": text or bytecode; "hlo", "hlo_with_config": protobuf messages
  size_t format_size;
};
struct AbiClientCompile {
  static constexpr AbiFunction kFunction{200, "PJRT_Client_Compile"};
  AbiHead head;
  AbiClient* client;
  const AbiProgram* program;
  const char* compile_options;  // a CompileOptionsProto
  size_t compile_options_size;
  AbiLoadedExecutable* executable;  // out
};

enum class AbiHostBuffer : int32_t {
  immutable_only_during_call = 0,
  immutable_until_transfer_completes = 1,
};

struct AbiClientBufferFromHostBuffer {
  static constexpr AbiFunction kFunction{216, "PJRT_Client_BufferFromHostBuffer"};
  AbiHead head;
  AbiClient* client;
  const void* data;
  AbiType type;
  const int64_t* dims;
  size_t num_dims;
  const int64_t* byte_strides;  // none: row-major
  size_t num_byte_strides;
  AbiHostBuffer host_buffer_semantics;
  AbiDevice* device;
  AbiMemory* memory;
  void* device_layout;
  AbiEvent* done_with_host_buffer;  // out, the caller's
  AbiBuffer* buffer;                // out, the caller's
};

struct AbiDeviceGetDescription {
  static constexpr AbiFunction kFunction{272, "PJRT_Device_GetDescription"};
  AbiHead head;
  AbiDevice* device;
  AbiDeviceDescription* device_description;  // out
};
struct AbiDeviceDescriptionId {
  static constexpr AbiFunction kFunction{224, "PJRT_DeviceDescription_Id"};
  AbiHead head;
  AbiDeviceDescription* device_description;
  int32_t id;  // out
};
struct AbiDeviceDescriptionKind {
  static constexpr AbiFunction kFunction{248, "PJRT_DeviceDescription_Kind"};
  AbiHead head;
  AbiDeviceDescription* device_description;
  const char* device_kind;  // out
  size_t device_kind_size;
};
struct AbiDeviceMemoryStats {
  static constexpr AbiFunction kFunction{312, "PJRT_Device_MemoryStats"};
  AbiHead head;
  AbiDevice* device;
  int64_t bytes_in_use;  // out, as all below; each is valid where the flag after it is set
  int64_t peak_bytes_in_use;
  bool peak_bytes_in_use_is_set;
  int64_t num_allocs;
  bool num_allocs_is_set;
  int64_t largest_alloc_size;
  bool largest_alloc_size_is_set;
  int64_t bytes_limit;
  bool bytes_limit_is_set;
  std::byte unused[112];  // seven more pairs
};

// ---- programs ----

struct AbiExecutableDestroy {
  static constexpr AbiFunction kFunction{360, "PJRT_Executable_Destroy"};
  AbiHead head;
  AbiExecutable* executable;
};
struct AbiExecutableNumOutputs {
  static constexpr AbiFunction kFunction{392, "PJRT_Executable_NumOutputs"};
  AbiHead head;
  AbiExecutable* executable;
  size_t num_outputs;  // out
};
struct AbiExecutableGetCostAnalysis {
  static constexpr AbiFunction kFunction{408, "PJRT_Executable_GetCostAnalysis"};
  AbiHead head;
  AbiExecutable* executable;
  size_t num_properties;  // out
  const AbiNamedValue* properties;
};
struct AbiExecutableOptimizedProgram {
  static constexpr AbiFunction kFunction{424, "PJRT_Executable_OptimizedProgram"};
  AbiHead head;
  AbiExecutable* executable;
  AbiProgram* program;  // without `code`: gives the size; with it: fills it
};
struct AbiExecutableOutputElementTypes {
  static constexpr AbiFunction kFunction{760, "PJRT_Executable_OutputElementTypes"};
  AbiHead head;
  AbiExecutable* executable;
  AbiType* output_types;  // out
  size_t num_output_types;
};
struct AbiExecutableOutputDimensions {
  static constexpr AbiFunction kFunction{768, "PJRT_Executable_OutputDimensions"};
  AbiHead head;
  AbiExecutable* executable;
  size_t num_outputs;
  const int64_t* dims;      // out: of all outputs, one after the other
  const size_t* dim_sizes;  // out: how many of each
};
struct AbiExecutableGetCompiledMemoryStats {
  static constexpr AbiFunction kFunction{808, "PJRT_Executable_GetCompiledMemoryStats"};
  AbiHead head;
  AbiExecutable* executable;
  int64_t generated_code_size_in_bytes;  // out, as all below
  int64_t argument_size_in_bytes;
  int64_t output_size_in_bytes;
  int64_t alias_size_in_bytes;  // of arguments whose memory outputs take
  int64_t temp_size_in_bytes;
  int64_t host_generated_code_size_in_bytes;
  int64_t host_argument_size_in_bytes;
  int64_t host_output_size_in_bytes;
  int64_t host_alias_size_in_bytes;
  int64_t host_temp_size_in_bytes;
  int64_t peak_memory_in_bytes;  // 0 from plugins older than it
};
struct AbiLoadedExecutableDestroy {
  static constexpr AbiFunction kFunction{440, "PJRT_LoadedExecutable_Destroy"};
  AbiHead head;
  AbiLoadedExecutable* executable;
};
struct AbiLoadedExecutableGetExecutable {
  static constexpr AbiFunction kFunction{448, "PJRT_LoadedExecutable_GetExecutable"};
  AbiHead head;
  AbiLoadedExecutable* loaded_executable;
  AbiExecutable* executable;  // out, the caller's
};

struct AbiExecuteOptions {
  AbiHead head;
  void* send_callbacks;
  void* recv_callbacks;
  size_t num_send_ops;
  size_t num_recv_ops;
  int32_t launch_id;
  const int64_t* non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  void* context;
  std::byte later[256];  // what newer versions append, all of it optional
};
struct AbiLoadedExecutableExecute {
  static constexpr AbiFunction kFunction{480, "PJRT_LoadedExecutable_Execute"};
  AbiHead head;
  AbiLoadedExecutable* executable;
  AbiExecuteOptions* options;
  AbiBuffer* const* const* argument_lists;  // [num_devices, num_args]
  size_t num_devices;
  size_t num_args;
  AbiBuffer** const* output_lists;    // out [num_devices, outputs], the caller's
  AbiEvent** device_complete_events;  // out [num_devices], the caller's
  AbiDevice* execute_device;
};

// ---- buffers ----

struct AbiBufferDestroy {
  static constexpr AbiFunction kFunction{504, "PJRT_Buffer_Destroy"};
  AbiHead head;
  AbiBuffer* buffer;
};

struct AbiTiledLayout {
  AbiHead head;
  const int64_t* minor_to_major;  // row-major: rank − 1 … 0
  size_t minor_to_major_size;
  const int64_t* tile_dims;
  const size_t* tile_dim_sizes;
  size_t num_tiles;
};
struct AbiMemoryLayout {
  AbiHead head;
  AbiTiledLayout tiled;  // the longer half of a union with strides
  int32_t type;          // 0: tiled
};
struct AbiBufferToHostBuffer {
  static constexpr AbiFunction kFunction{600, "PJRT_Buffer_ToHostBuffer"};
  AbiHead head;
  AbiBuffer* src;
  AbiMemoryLayout* host_layout;
  void* dst;
  size_t dst_size;
  AbiEvent* event;  // out, the caller's: when the bytes are there
};

// ---- topologies ----

struct AbiTopologyCreate {
  static constexpr AbiFunction kFunction{696, "PJRT_TopologyDescription_Create"};
  AbiHead head;
  const char* topology_name;
  size_t topology_name_size;
  const AbiNamedValue* create_options;
  size_t num_options;
  AbiTopology* topology;  // out, the caller's
};
struct AbiTopologyDestroy {
  static constexpr AbiFunction kFunction{704, "PJRT_TopologyDescription_Destroy"};
  AbiHead head;
  AbiTopology* topology;
};
struct AbiTopologyGetDeviceDescriptions {
  static constexpr AbiFunction kFunction{728, "PJRT_TopologyDescription_GetDeviceDescriptions"};
  AbiHead head;
  const AbiTopology* topology;
  AbiDeviceDescription* const* descriptions;  // out
  size_t num_descriptions;
};
struct AbiCompile {
  static constexpr AbiFunction kFunction{752, "PJRT_Compile"};
  AbiHead head;
  const AbiTopology* topology;
  const AbiProgram* program;
  const char* compile_options;
  size_t compile_options_size;
  AbiClient* client;          // none: only compiles
  AbiExecutable* executable;  // out, the caller's
};

}  // namespace bertrain
