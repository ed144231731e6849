// Any bytes as a weight file of PyTorch, as the pickle of the older form with values behind it, and as an index of several files.
#include "checkpoint/checkpoint.h"
#include "checkpoint/pytorch.h"
#include "formats/pickle.h"
#include "fuzz_input.h"

namespace bertrain {
namespace {

void read_all(std::string_view uri) {
  auto reader = open_checkpoint(uri);
  for (const auto& tensor : reader->tensors()) {
    refusing([&] { reader->read(tensor.first); });
  }
}

void fuzz(std::string_view input) {
  write_text(kFuzzed, input);
  refusing([] {
    auto reader = open_pytorch(kFuzzed);
    for (const auto& tensor : reader->tensors()) {
      refusing([&] { reader->read(tensor.first); });
    }
  });
  // Past the magic number: the state's pickle, then one storage "0" of eight bytes.
  std::string file(
      "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.", 25);
  file.append(input);
  file.append(
      "\x80\x02]U\x01"
      "0"
      "a.",
      8);
  file.append("\x02\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0", 16);
  write_text(kFuzzed, file);
  refusing([] { read_all(kFuzzed); });
  // Every global passes: what is read beyond state dicts.
  refusing([&] { read_pickle(input, [](const std::string&) {}); });
  write_text("mem://fuzzed/model.safetensors.index.json", input);
  refusing([] { read_all("mem://fuzzed/model.safetensors.index.json"); });
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
