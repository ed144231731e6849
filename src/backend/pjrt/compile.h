// The compile call, which a client and a topology share but for the struct that carries it.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "backend/pjrt/call.h"
#include "backend/pjrt/executable.h"
#include "backend/pjrt/xla_messages.h"

namespace bertrain {

// Fills in text and options of `args`, for the first of the devices `ids`, and calls. Gives the
// seconds that it took; what was compiled is in args.executable.
template <class Args>
double compile_text(const PjrtPlugin& plugin, Args& args, std::string_view stablehlo,
                    std::span<const int64_t> ids, const CompileFlags& flags) {
  check(flags.replicas >= 1 && static_cast<size_t>(flags.replicas) <= ids.size(),
        "a replica needs a device");
  std::string options = compile_options(ids.first(static_cast<size_t>(flags.replicas)));
  AbiProgram program = program_of(stablehlo);
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  auto start = std::chrono::steady_clock::now();
  call(plugin, args);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace bertrain
