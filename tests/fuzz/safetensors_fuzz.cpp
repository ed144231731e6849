// Any bytes as a safetensors file, and as its header with a fitting length in front.
#include "checkpoint/safetensors.h"
#include "fuzz_input.h"

namespace bertrain {
namespace {

void read_all() {
  auto reader = open_safetensors(kFuzzed);
  for (const auto& [name, type] : reader->tensors()) reader->read(name);
}

void fuzz(std::string_view input) {
  write_text(kFuzzed, input);
  refusing(read_all);
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(input.size() >> (8 * i));
  file.append(input);
  file.append(64, '\1');
  write_text(kFuzzed, file);
  refusing(read_all);
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
