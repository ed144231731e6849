// Any bytes as the index of a TensorFlow checkpoint, as one of its blocks' entries (past the checksums), and as the
// `checkpoint` file beside it; and as the data file that holds a graph of objects.
#include "checkpoint/checkpoint.h"
#include "checkpoint/tf_bundle.h"
#include "formats/object_graph.h"
#include "formats/tf_index.h"
#include "fuzz_input.h"

namespace bertrain {
namespace {

void read_all() {
  auto reader = open_tf_bundle(kFuzzed);
  for (const auto& tensor : reader->tensors()) {
    refusing([&] { reader->read(tensor.first); });
  }
  refusing([&] { reader->object_graph(); });
}

void fuzz(std::string_view input) {
  write_text("mem://fuzzed.data-00000-of-00001", std::string(256, '\1'));
  write_text("mem://fuzzed.index", input);
  refusing(read_all);
  // The bundle's own entry, then a tensor's: the first byte says where one ends.
  if (!input.empty()) {
    size_t cut = std::min<size_t>(static_cast<unsigned char>(input[0]), input.size() - 1);
    std::vector<IndexEntry> entries(2);
    entries[0].value = input.substr(1, cut);
    entries[1].key = "a";
    entries[1].value = input.substr(1 + cut);
    write_text("mem://fuzzed.index", write_table(entries));
    refusing(read_all);
    // The entry of a graph of objects, which is the input with its checksums or without.
    entries[1].key = kObjectGraphKey;
    write_text("mem://fuzzed.index", write_table(entries));
    write_text("mem://fuzzed.data-00000-of-00001", input);
    refusing(read_all);
  }
  write_text(kFuzzed, input);
  refusing([] { read_tf_state(kFuzzed); });
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
