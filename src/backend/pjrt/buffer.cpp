// Copies values from a device and gives them back.
#include "backend/pjrt/buffer.h"

#include <utility>

#include "backend/pjrt/call.h"
#include "backend/pjrt/client.h"
#include "backend/pjrt/event.h"

namespace bertrain {

AbiType abi_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return AbiType::f32;
    case DType::bf16:
      return AbiType::bf16;
    case DType::f16:
      return AbiType::f16;
    case DType::i32:
      return AbiType::s32;
    case DType::i64:
      return AbiType::s64;
    case DType::u32:
      return AbiType::u32;
    case DType::u8:
      return AbiType::u8;
    case DType::boolean:
      return AbiType::pred;
  }
  return AbiType::invalid;
}

PjrtBuffer::PjrtBuffer(std::shared_ptr<const PjrtClient> client, AbiBuffer* buffer, ArrayType type)
    : client_(std::move(client)), buffer_(buffer), type_(std::move(type)) {}

PjrtBuffer::~PjrtBuffer() {
  AbiBufferDestroy destroy{};
  destroy.buffer = buffer_;
  give_back(client_->plugin(), destroy);
}

Array PjrtBuffer::get() const {
  check(!dead_, "values are asked for that a run has consumed");
  const PjrtPlugin& plugin = client_->plugin();
  // Without a layout the plugin would give the bytes as they lie on the device.
  Shape minor_to_major(type_.shape.size());
  for (size_t i = 0; i < minor_to_major.size(); ++i) {
    minor_to_major[i] = static_cast<int64_t>(minor_to_major.size() - 1 - i);
  }
  AbiMemoryLayout layout{};
  layout.head.struct_size = sizeof layout;
  layout.tiled.head.struct_size = sizeof layout.tiled;
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();
  return make_array(type_, [&](std::span<std::byte> into) {
    AbiBufferToHostBuffer args{};
    args.src = buffer_;
    args.host_layout = &layout;
    args.dst = into.data();
    args.dst_size = into.size();
    call(plugin, args);
    PjrtEvent(plugin, args.event).wait(AbiBufferToHostBuffer::kFunction.name);
  });
}

}  // namespace bertrain
