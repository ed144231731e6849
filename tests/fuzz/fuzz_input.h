// What the fuzz targets share: the place of the input, and that an Error is a right answer to it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "storage/storage.h"

namespace bertrain {

inline constexpr std::string_view kFuzzed = "mem://fuzzed";

// Anything else that is thrown ends the process, and the fuzzer keeps the input.
template <class Action>
void refusing(Action act) {
  try {
    act();
  } catch (const Error&) {
  }
}

}  // namespace bertrain

// libFuzzer calls this function by its name.
#define BERTRAIN_FUZZ(target)                                               \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { \
    target(std::string_view(reinterpret_cast<const char*>(data), size));    \
    return 0;                                                               \
  }
