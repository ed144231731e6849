// Holds src/backend/pjrt/abi.h to the published header of PJRT: compiles if every function and field
// lies where the header has it. Not part of the build: tests/pjrt/abi compiles it where the header is.
#include "backend/pjrt/abi.h"

#include <string_view>

#include "pjrt_c_api.h"

namespace bertrain {

#define FUNCTION(ours, theirs)                                          \
  static_assert(ours::kFunction.offset == offsetof(PJRT_Api, theirs) && \
                std::string_view(ours::kFunction.name) == #theirs)

#define HEAD(ours, theirs)                                               \
  static_assert(offsetof(ours, head) == offsetof(theirs, struct_size) && \
                sizeof(AbiHead) == offsetof(theirs, extension_start) + sizeof(void*))

// The header's struct is at least as long; longer is what newer versions append.
#define STRUCT(ours, theirs) \
  HEAD(ours, theirs);        \
  static_assert(sizeof(ours) <= sizeof(theirs))

#define FIELD(ours, theirs, field)                                  \
  static_assert(offsetof(ours, field) == offsetof(theirs, field) && \
                sizeof(ours::field) == sizeof(theirs::field))

static_assert(offsetof(AbiTable, major_version) ==
              offsetof(PJRT_Api, pjrt_api_version) + offsetof(PJRT_Api_Version, major_version));
static_assert(offsetof(AbiTable, minor_version) ==
              offsetof(PJRT_Api, pjrt_api_version) + offsetof(PJRT_Api_Version, minor_version));
static_assert(sizeof(AbiTable) == offsetof(PJRT_Api, PJRT_Error_Destroy));
static_assert(PJRT_API_MAJOR == 0);

FUNCTION(AbiErrorDestroy, PJRT_Error_Destroy);
STRUCT(AbiErrorDestroy, PJRT_Error_Destroy_Args);
FIELD(AbiErrorDestroy, PJRT_Error_Destroy_Args, error);
FUNCTION(AbiErrorMessage, PJRT_Error_Message);
STRUCT(AbiErrorMessage, PJRT_Error_Message_Args);
FIELD(AbiErrorMessage, PJRT_Error_Message_Args, error);
FIELD(AbiErrorMessage, PJRT_Error_Message_Args, message);
FIELD(AbiErrorMessage, PJRT_Error_Message_Args, message_size);
FUNCTION(AbiErrorGetCode, PJRT_Error_GetCode);
STRUCT(AbiErrorGetCode, PJRT_Error_GetCode_Args);
FIELD(AbiErrorGetCode, PJRT_Error_GetCode_Args, error);
FIELD(AbiErrorGetCode, PJRT_Error_GetCode_Args, code);
FUNCTION(AbiEventDestroy, PJRT_Event_Destroy);
STRUCT(AbiEventDestroy, PJRT_Event_Destroy_Args);
FIELD(AbiEventDestroy, PJRT_Event_Destroy_Args, event);
FUNCTION(AbiEventIsReady, PJRT_Event_IsReady);
STRUCT(AbiEventIsReady, PJRT_Event_IsReady_Args);
FIELD(AbiEventIsReady, PJRT_Event_IsReady_Args, event);
FIELD(AbiEventIsReady, PJRT_Event_IsReady_Args, is_ready);
FUNCTION(AbiEventAwait, PJRT_Event_Await);
STRUCT(AbiEventAwait, PJRT_Event_Await_Args);
FIELD(AbiEventAwait, PJRT_Event_Await_Args, event);
FUNCTION(AbiEventOnReady, PJRT_Event_OnReady);
STRUCT(AbiEventOnReady, PJRT_Event_OnReady_Args);
FIELD(AbiEventOnReady, PJRT_Event_OnReady_Args, event);
FIELD(AbiEventOnReady, PJRT_Event_OnReady_Args, callback);
FIELD(AbiEventOnReady, PJRT_Event_OnReady_Args, user_arg);
STRUCT(AbiNamedValue, PJRT_NamedValue);
FIELD(AbiNamedValue, PJRT_NamedValue, name);
FIELD(AbiNamedValue, PJRT_NamedValue, name_size);
FIELD(AbiNamedValue, PJRT_NamedValue, type);
FIELD(AbiNamedValue, PJRT_NamedValue, string_value);
FIELD(AbiNamedValue, PJRT_NamedValue, int64_value);
FIELD(AbiNamedValue, PJRT_NamedValue, int64_array_value);
FIELD(AbiNamedValue, PJRT_NamedValue, float_value);
FIELD(AbiNamedValue, PJRT_NamedValue, bool_value);
FIELD(AbiNamedValue, PJRT_NamedValue, value_size);
FUNCTION(AbiPluginInitialize, PJRT_Plugin_Initialize);
STRUCT(AbiPluginInitialize, PJRT_Plugin_Initialize_Args);
FUNCTION(AbiClientCreate, PJRT_Client_Create);
STRUCT(AbiClientCreate, PJRT_Client_Create_Args);
FIELD(AbiClientCreate, PJRT_Client_Create_Args, create_options);
FIELD(AbiClientCreate, PJRT_Client_Create_Args, num_options);
FIELD(AbiClientCreate, PJRT_Client_Create_Args, kv_get_callback);
FIELD(AbiClientCreate, PJRT_Client_Create_Args, kv_get_user_arg);
FIELD(AbiClientCreate, PJRT_Client_Create_Args, kv_put_callback);
FIELD(AbiClientCreate, PJRT_Client_Create_Args, kv_put_user_arg);
FIELD(AbiClientCreate, PJRT_Client_Create_Args, client);
FIELD(AbiClientCreate, PJRT_Client_Create_Args, kv_try_get_callback);
FIELD(AbiClientCreate, PJRT_Client_Create_Args, kv_try_get_user_arg);
FUNCTION(AbiClientDestroy, PJRT_Client_Destroy);
STRUCT(AbiClientDestroy, PJRT_Client_Destroy_Args);
FIELD(AbiClientDestroy, PJRT_Client_Destroy_Args, client);
FUNCTION(AbiClientPlatformName, PJRT_Client_PlatformName);
STRUCT(AbiClientPlatformName, PJRT_Client_PlatformName_Args);
FIELD(AbiClientPlatformName, PJRT_Client_PlatformName_Args, client);
FIELD(AbiClientPlatformName, PJRT_Client_PlatformName_Args, platform_name);
FIELD(AbiClientPlatformName, PJRT_Client_PlatformName_Args, platform_name_size);
FUNCTION(AbiClientPlatformVersion, PJRT_Client_PlatformVersion);
STRUCT(AbiClientPlatformVersion, PJRT_Client_PlatformVersion_Args);
FIELD(AbiClientPlatformVersion, PJRT_Client_PlatformVersion_Args, client);
FIELD(AbiClientPlatformVersion, PJRT_Client_PlatformVersion_Args, platform_version);
FIELD(AbiClientPlatformVersion, PJRT_Client_PlatformVersion_Args, platform_version_size);
FUNCTION(AbiClientAddressableDevices, PJRT_Client_AddressableDevices);
STRUCT(AbiClientAddressableDevices, PJRT_Client_AddressableDevices_Args);
FIELD(AbiClientAddressableDevices, PJRT_Client_AddressableDevices_Args, client);
FIELD(AbiClientAddressableDevices, PJRT_Client_AddressableDevices_Args, addressable_devices);
FIELD(AbiClientAddressableDevices, PJRT_Client_AddressableDevices_Args, num_addressable_devices);
STRUCT(AbiProgram, PJRT_Program);
FIELD(AbiProgram, PJRT_Program, code);
FIELD(AbiProgram, PJRT_Program, code_size);
FIELD(AbiProgram, PJRT_Program, format);
FIELD(AbiProgram, PJRT_Program, format_size);
FUNCTION(AbiClientCompile, PJRT_Client_Compile);
STRUCT(AbiClientCompile, PJRT_Client_Compile_Args);
FIELD(AbiClientCompile, PJRT_Client_Compile_Args, client);
FIELD(AbiClientCompile, PJRT_Client_Compile_Args, program);
FIELD(AbiClientCompile, PJRT_Client_Compile_Args, compile_options);
FIELD(AbiClientCompile, PJRT_Client_Compile_Args, compile_options_size);
FIELD(AbiClientCompile, PJRT_Client_Compile_Args, executable);
FUNCTION(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer);
STRUCT(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args);
FIELD(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, client);
FIELD(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, data);
FIELD(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, type);
FIELD(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, dims);
FIELD(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, num_dims);
FIELD(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, byte_strides);
FIELD(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, num_byte_strides);
FIELD(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, host_buffer_semantics);
FIELD(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, device);
FIELD(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, memory);
FIELD(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, device_layout);
FIELD(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, done_with_host_buffer);
FIELD(AbiClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, buffer);
FUNCTION(AbiDeviceGetDescription, PJRT_Device_GetDescription);
STRUCT(AbiDeviceGetDescription, PJRT_Device_GetDescription_Args);
FIELD(AbiDeviceGetDescription, PJRT_Device_GetDescription_Args, device);
FIELD(AbiDeviceGetDescription, PJRT_Device_GetDescription_Args, device_description);
FUNCTION(AbiDeviceDescriptionId, PJRT_DeviceDescription_Id);
STRUCT(AbiDeviceDescriptionId, PJRT_DeviceDescription_Id_Args);
FIELD(AbiDeviceDescriptionId, PJRT_DeviceDescription_Id_Args, device_description);
FIELD(AbiDeviceDescriptionId, PJRT_DeviceDescription_Id_Args, id);
FUNCTION(AbiDeviceDescriptionKind, PJRT_DeviceDescription_Kind);
STRUCT(AbiDeviceDescriptionKind, PJRT_DeviceDescription_Kind_Args);
FIELD(AbiDeviceDescriptionKind, PJRT_DeviceDescription_Kind_Args, device_description);
FIELD(AbiDeviceDescriptionKind, PJRT_DeviceDescription_Kind_Args, device_kind);
FIELD(AbiDeviceDescriptionKind, PJRT_DeviceDescription_Kind_Args, device_kind_size);
FUNCTION(AbiDeviceMemoryStats, PJRT_Device_MemoryStats);
STRUCT(AbiDeviceMemoryStats, PJRT_Device_MemoryStats_Args);
FIELD(AbiDeviceMemoryStats, PJRT_Device_MemoryStats_Args, device);
FIELD(AbiDeviceMemoryStats, PJRT_Device_MemoryStats_Args, bytes_in_use);
FIELD(AbiDeviceMemoryStats, PJRT_Device_MemoryStats_Args, peak_bytes_in_use);
FIELD(AbiDeviceMemoryStats, PJRT_Device_MemoryStats_Args, peak_bytes_in_use_is_set);
FIELD(AbiDeviceMemoryStats, PJRT_Device_MemoryStats_Args, num_allocs);
FIELD(AbiDeviceMemoryStats, PJRT_Device_MemoryStats_Args, num_allocs_is_set);
FIELD(AbiDeviceMemoryStats, PJRT_Device_MemoryStats_Args, largest_alloc_size);
FIELD(AbiDeviceMemoryStats, PJRT_Device_MemoryStats_Args, largest_alloc_size_is_set);
FIELD(AbiDeviceMemoryStats, PJRT_Device_MemoryStats_Args, bytes_limit);
FIELD(AbiDeviceMemoryStats, PJRT_Device_MemoryStats_Args, bytes_limit_is_set);
FUNCTION(AbiExecutableDestroy, PJRT_Executable_Destroy);
STRUCT(AbiExecutableDestroy, PJRT_Executable_Destroy_Args);
FIELD(AbiExecutableDestroy, PJRT_Executable_Destroy_Args, executable);
FUNCTION(AbiExecutableNumOutputs, PJRT_Executable_NumOutputs);
STRUCT(AbiExecutableNumOutputs, PJRT_Executable_NumOutputs_Args);
FIELD(AbiExecutableNumOutputs, PJRT_Executable_NumOutputs_Args, executable);
FIELD(AbiExecutableNumOutputs, PJRT_Executable_NumOutputs_Args, num_outputs);
FUNCTION(AbiExecutableGetCostAnalysis, PJRT_Executable_GetCostAnalysis);
STRUCT(AbiExecutableGetCostAnalysis, PJRT_Executable_GetCostAnalysis_Args);
FIELD(AbiExecutableGetCostAnalysis, PJRT_Executable_GetCostAnalysis_Args, executable);
FIELD(AbiExecutableGetCostAnalysis, PJRT_Executable_GetCostAnalysis_Args, num_properties);
FIELD(AbiExecutableGetCostAnalysis, PJRT_Executable_GetCostAnalysis_Args, properties);
FUNCTION(AbiExecutableOptimizedProgram, PJRT_Executable_OptimizedProgram);
STRUCT(AbiExecutableOptimizedProgram, PJRT_Executable_OptimizedProgram_Args);
FIELD(AbiExecutableOptimizedProgram, PJRT_Executable_OptimizedProgram_Args, executable);
FIELD(AbiExecutableOptimizedProgram, PJRT_Executable_OptimizedProgram_Args, program);
FUNCTION(AbiExecutableOutputElementTypes, PJRT_Executable_OutputElementTypes);
STRUCT(AbiExecutableOutputElementTypes, PJRT_Executable_OutputElementTypes_Args);
FIELD(AbiExecutableOutputElementTypes, PJRT_Executable_OutputElementTypes_Args, executable);
FIELD(AbiExecutableOutputElementTypes, PJRT_Executable_OutputElementTypes_Args, output_types);
FIELD(AbiExecutableOutputElementTypes, PJRT_Executable_OutputElementTypes_Args, num_output_types);
FUNCTION(AbiExecutableOutputDimensions, PJRT_Executable_OutputDimensions);
STRUCT(AbiExecutableOutputDimensions, PJRT_Executable_OutputDimensions_Args);
FIELD(AbiExecutableOutputDimensions, PJRT_Executable_OutputDimensions_Args, executable);
FIELD(AbiExecutableOutputDimensions, PJRT_Executable_OutputDimensions_Args, num_outputs);
FIELD(AbiExecutableOutputDimensions, PJRT_Executable_OutputDimensions_Args, dims);
FIELD(AbiExecutableOutputDimensions, PJRT_Executable_OutputDimensions_Args, dim_sizes);
FUNCTION(AbiExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats);
STRUCT(AbiExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats_Args);
FIELD(AbiExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats_Args, executable);
FIELD(AbiExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats_Args,
      generated_code_size_in_bytes);
FIELD(AbiExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats_Args,
      argument_size_in_bytes);
FIELD(AbiExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats_Args,
      output_size_in_bytes);
FIELD(AbiExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats_Args,
      alias_size_in_bytes);
FIELD(AbiExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats_Args,
      temp_size_in_bytes);
FIELD(AbiExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats_Args,
      host_generated_code_size_in_bytes);
FIELD(AbiExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats_Args,
      host_argument_size_in_bytes);
FIELD(AbiExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats_Args,
      host_output_size_in_bytes);
FIELD(AbiExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats_Args,
      host_alias_size_in_bytes);
FIELD(AbiExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats_Args,
      host_temp_size_in_bytes);
FIELD(AbiExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats_Args,
      peak_memory_in_bytes);
FUNCTION(AbiLoadedExecutableDestroy, PJRT_LoadedExecutable_Destroy);
STRUCT(AbiLoadedExecutableDestroy, PJRT_LoadedExecutable_Destroy_Args);
FIELD(AbiLoadedExecutableDestroy, PJRT_LoadedExecutable_Destroy_Args, executable);
FUNCTION(AbiLoadedExecutableGetExecutable, PJRT_LoadedExecutable_GetExecutable);
STRUCT(AbiLoadedExecutableGetExecutable, PJRT_LoadedExecutable_GetExecutable_Args);
FIELD(AbiLoadedExecutableGetExecutable, PJRT_LoadedExecutable_GetExecutable_Args,
      loaded_executable);
FIELD(AbiLoadedExecutableGetExecutable, PJRT_LoadedExecutable_GetExecutable_Args, executable);
// Ours ends with room for what is appended.
HEAD(AbiExecuteOptions, PJRT_ExecuteOptions);
FIELD(AbiExecuteOptions, PJRT_ExecuteOptions, send_callbacks);
FIELD(AbiExecuteOptions, PJRT_ExecuteOptions, recv_callbacks);
FIELD(AbiExecuteOptions, PJRT_ExecuteOptions, num_send_ops);
FIELD(AbiExecuteOptions, PJRT_ExecuteOptions, num_recv_ops);
FIELD(AbiExecuteOptions, PJRT_ExecuteOptions, launch_id);
FIELD(AbiExecuteOptions, PJRT_ExecuteOptions, non_donatable_input_indices);
FIELD(AbiExecuteOptions, PJRT_ExecuteOptions, num_non_donatable_input_indices);
FIELD(AbiExecuteOptions, PJRT_ExecuteOptions, context);
FUNCTION(AbiLoadedExecutableExecute, PJRT_LoadedExecutable_Execute);
STRUCT(AbiLoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args);
FIELD(AbiLoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, executable);
FIELD(AbiLoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, options);
FIELD(AbiLoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, argument_lists);
FIELD(AbiLoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, num_devices);
FIELD(AbiLoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, num_args);
FIELD(AbiLoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, output_lists);
FIELD(AbiLoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, device_complete_events);
FIELD(AbiLoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, execute_device);
FUNCTION(AbiBufferDestroy, PJRT_Buffer_Destroy);
STRUCT(AbiBufferDestroy, PJRT_Buffer_Destroy_Args);
FIELD(AbiBufferDestroy, PJRT_Buffer_Destroy_Args, buffer);
STRUCT(AbiTiledLayout, PJRT_Buffer_MemoryLayout_Tiled);
FIELD(AbiTiledLayout, PJRT_Buffer_MemoryLayout_Tiled, minor_to_major);
FIELD(AbiTiledLayout, PJRT_Buffer_MemoryLayout_Tiled, minor_to_major_size);
FIELD(AbiTiledLayout, PJRT_Buffer_MemoryLayout_Tiled, tile_dims);
FIELD(AbiTiledLayout, PJRT_Buffer_MemoryLayout_Tiled, tile_dim_sizes);
FIELD(AbiTiledLayout, PJRT_Buffer_MemoryLayout_Tiled, num_tiles);
STRUCT(AbiMemoryLayout, PJRT_Buffer_MemoryLayout);
FIELD(AbiMemoryLayout, PJRT_Buffer_MemoryLayout, tiled);
FIELD(AbiMemoryLayout, PJRT_Buffer_MemoryLayout, type);
FUNCTION(AbiBufferToHostBuffer, PJRT_Buffer_ToHostBuffer);
STRUCT(AbiBufferToHostBuffer, PJRT_Buffer_ToHostBuffer_Args);
FIELD(AbiBufferToHostBuffer, PJRT_Buffer_ToHostBuffer_Args, src);
FIELD(AbiBufferToHostBuffer, PJRT_Buffer_ToHostBuffer_Args, host_layout);
FIELD(AbiBufferToHostBuffer, PJRT_Buffer_ToHostBuffer_Args, dst);
FIELD(AbiBufferToHostBuffer, PJRT_Buffer_ToHostBuffer_Args, dst_size);
FIELD(AbiBufferToHostBuffer, PJRT_Buffer_ToHostBuffer_Args, event);
FUNCTION(AbiTopologyCreate, PJRT_TopologyDescription_Create);
STRUCT(AbiTopologyCreate, PJRT_TopologyDescription_Create_Args);
FIELD(AbiTopologyCreate, PJRT_TopologyDescription_Create_Args, topology_name);
FIELD(AbiTopologyCreate, PJRT_TopologyDescription_Create_Args, topology_name_size);
FIELD(AbiTopologyCreate, PJRT_TopologyDescription_Create_Args, create_options);
FIELD(AbiTopologyCreate, PJRT_TopologyDescription_Create_Args, num_options);
FIELD(AbiTopologyCreate, PJRT_TopologyDescription_Create_Args, topology);
FUNCTION(AbiTopologyDestroy, PJRT_TopologyDescription_Destroy);
STRUCT(AbiTopologyDestroy, PJRT_TopologyDescription_Destroy_Args);
FIELD(AbiTopologyDestroy, PJRT_TopologyDescription_Destroy_Args, topology);
FUNCTION(AbiTopologyGetDeviceDescriptions, PJRT_TopologyDescription_GetDeviceDescriptions);
STRUCT(AbiTopologyGetDeviceDescriptions, PJRT_TopologyDescription_GetDeviceDescriptions_Args);
FIELD(AbiTopologyGetDeviceDescriptions, PJRT_TopologyDescription_GetDeviceDescriptions_Args,
      topology);
FIELD(AbiTopologyGetDeviceDescriptions, PJRT_TopologyDescription_GetDeviceDescriptions_Args,
      descriptions);
FIELD(AbiTopologyGetDeviceDescriptions, PJRT_TopologyDescription_GetDeviceDescriptions_Args,
      num_descriptions);
FUNCTION(AbiCompile, PJRT_Compile);
STRUCT(AbiCompile, PJRT_Compile_Args);
FIELD(AbiCompile, PJRT_Compile_Args, topology);
FIELD(AbiCompile, PJRT_Compile_Args, program);
FIELD(AbiCompile, PJRT_Compile_Args, compile_options);
FIELD(AbiCompile, PJRT_Compile_Args, compile_options_size);
FIELD(AbiCompile, PJRT_Compile_Args, client);
FIELD(AbiCompile, PJRT_Compile_Args, executable);

#define VALUE(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))
VALUE(AbiCode::ok, PJRT_Error_Code_OK);
VALUE(AbiCode::cancelled, PJRT_Error_Code_CANCELLED);
VALUE(AbiCode::unknown, PJRT_Error_Code_UNKNOWN);
VALUE(AbiCode::invalid_argument, PJRT_Error_Code_INVALID_ARGUMENT);
VALUE(AbiCode::deadline_exceeded, PJRT_Error_Code_DEADLINE_EXCEEDED);
VALUE(AbiCode::not_found, PJRT_Error_Code_NOT_FOUND);
VALUE(AbiCode::already_exists, PJRT_Error_Code_ALREADY_EXISTS);
VALUE(AbiCode::permission_denied, PJRT_Error_Code_PERMISSION_DENIED);
VALUE(AbiCode::resource_exhausted, PJRT_Error_Code_RESOURCE_EXHAUSTED);
VALUE(AbiCode::failed_precondition, PJRT_Error_Code_FAILED_PRECONDITION);
VALUE(AbiCode::aborted, PJRT_Error_Code_ABORTED);
VALUE(AbiCode::out_of_range, PJRT_Error_Code_OUT_OF_RANGE);
VALUE(AbiCode::unimplemented, PJRT_Error_Code_UNIMPLEMENTED);
VALUE(AbiCode::internal, PJRT_Error_Code_INTERNAL);
VALUE(AbiCode::unavailable, PJRT_Error_Code_UNAVAILABLE);
VALUE(AbiCode::data_loss, PJRT_Error_Code_DATA_LOSS);
VALUE(AbiCode::unauthenticated, PJRT_Error_Code_UNAUTHENTICATED);
VALUE(AbiType::invalid, PJRT_Buffer_Type_INVALID);
VALUE(AbiType::pred, PJRT_Buffer_Type_PRED);
VALUE(AbiType::s32, PJRT_Buffer_Type_S32);
VALUE(AbiType::s64, PJRT_Buffer_Type_S64);
VALUE(AbiType::u8, PJRT_Buffer_Type_U8);
VALUE(AbiType::u32, PJRT_Buffer_Type_U32);
VALUE(AbiType::f16, PJRT_Buffer_Type_F16);
VALUE(AbiType::f32, PJRT_Buffer_Type_F32);
VALUE(AbiType::bf16, PJRT_Buffer_Type_BF16);
VALUE(AbiValueKind::string, PJRT_NamedValue_kString);
VALUE(AbiValueKind::int64, PJRT_NamedValue_kInt64);
VALUE(AbiValueKind::int64_list, PJRT_NamedValue_kInt64List);
VALUE(AbiValueKind::f32, PJRT_NamedValue_kFloat);
VALUE(AbiValueKind::boolean, PJRT_NamedValue_kBool);
VALUE(AbiHostBuffer::immutable_only_during_call, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
VALUE(AbiHostBuffer::immutable_until_transfer_completes,
      PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes);
static_assert(PJRT_Buffer_MemoryLayout_Type_Tiled == 0);

}  // namespace bertrain
