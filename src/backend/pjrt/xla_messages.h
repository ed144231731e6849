// The protobuf messages that go through a PJRT plugin: what a compilation is told, and what the
// compiler made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/array.h"

namespace bertrain {

// A CompileOptionsProto (xla/pjrt/proto/compile_options.proto): a program of one partition in as many
// replicas as devices are named; replica i runs on devices[i].
std::string compile_options(std::span<const int64_t> devices);

// How often each operation stands in an optimized program, by the names of HLO ("fusion",
// "all-reduce"), those inside fusions and loop bodies included. `program` is an
// HloModuleProtoWithConfig, or an HloModuleProto where `format` is "hlo". Malformed: an Error.
Named<int64_t> operations_of(std::string_view program, std::string_view format);

}  // namespace bertrain
