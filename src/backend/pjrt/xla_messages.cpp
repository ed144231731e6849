// Field numbers are those of xla/pjrt/proto/compile_options.proto, xla/xla_data.proto and
// xla/service/hlo.proto.
#include "backend/pjrt/xla_messages.h"

#include "base/error.h"
#include "formats/wire.h"

namespace bertrain {
namespace {

// Calls `visit` with each message that is field `number` of `message`.
template <class Visit>
void each_message(std::span<const std::byte> message, uint32_t number, const Visit& visit) {
  WireReader reader(message);
  while (reader.next()) {
    if (reader.field() == number && reader.type() == WireType::bytes) visit(reader.bytes());
  }
}

}  // namespace

std::string compile_options(std::span<const int64_t> devices) {
  WireWriter assignment;  // DeviceAssignmentProto
  assignment.varint(1, devices.size());
  assignment.varint(2, 1);
  WireWriter computation;
  computation.packed_varints(1, devices);
  assignment.bytes(3, computation.message());

  WireWriter build;                                     // ExecutableBuildOptionsProto
  build.varint(1, static_cast<uint64_t>(int64_t{-1}));  // device ordinal: none in particular
  build.varint(4, devices.size());                      // replicas
  build.varint(5, 1);                                   // partitions
  build.bytes(9, assignment.message());

  WireWriter options;
  options.bytes(3, build.message());
  return options.message();
}

Named<int64_t> operations_of(std::string_view program, std::string_view format) {
  Named<int64_t> counts;
  auto count_instruction = [&](std::span<const std::byte> instruction) {
    WireReader reader(instruction);
    while (reader.next()) {
      if (reader.field() == 2) ++counts[std::string(reader.text())];
    }
  };
  auto count_module = [&](std::span<const std::byte> module) {
    each_message(module, 3, [&](std::span<const std::byte> computation) {
      each_message(computation, 2, count_instruction);
    });
  };
  try {
    std::span<const std::byte> bytes = std::as_bytes(std::span(program));
    if (format == "hlo") {
      count_module(bytes);
    } else {
      each_message(bytes, 1, count_module);
    }
  } catch (const Error& e) {
    throw e.within("the optimized program that the plugin gives");
  }
  return counts;
}

}  // namespace bertrain
