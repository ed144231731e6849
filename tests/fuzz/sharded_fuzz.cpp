// Any bytes as the index of weights in two files that are there, read under our names; and as the second of the files.
#include "checkpoint/checkpoint.h"
#include "checkpoint/renamed.h"
#include "checkpoint/widened.h"
#include "fuzz_input.h"
#include "model/names.h"

namespace bertrain {
namespace {

const std::string kFolder = "mem://folder/";

void write_shard(const std::string& file, const Named<ArrayType>& types) {
  auto writer = create_checkpoint(kFolder + file, CheckpointFormat::safetensors);
  for (const auto& [name, type] : types) {
    writer->write(name, make_array(type, [](std::span<std::byte> bytes) {
                    for (std::byte& b : bytes) b = std::byte{1};
                  }));
  }
  writer->commit();
}

void read_all() {
  auto reader =
      rename_tensors(widen_floats(open_checkpoint(kFolder)), from_hugging_face, is_kernel);
  for (const auto& [name, type] : reader->tensors()) {
    check(reader->read(name).type == type, "a tensor is of the type that was told");
  }
}

void fuzz(std::string_view input) {
  write_shard("1.safetensors", {{"embeddings.word_embeddings.weight", {DType::f32, {3, 2}}},
                                {"module.bert.pooler.dense.weight", {DType::bf16, {2, 2}}}});
  write_shard("2.safetensors", {{"bert.pooler.dense.bias", {DType::f16, {2}}}});
  write_text(kFolder + "model.safetensors.index.json", input);
  refusing(read_all);
  write_text(kFolder + "model.safetensors.index.json",
             R"({"weight_map": {"embeddings.word_embeddings.weight": "1.safetensors",
                 "module.bert.pooler.dense.weight": "1.safetensors",
                 "bert.pooler.dense.bias": "2.safetensors"}})");
  write_text(kFolder + "2.safetensors", input);
  refusing(read_all);
}

}  // namespace
}  // namespace bertrain

BERTRAIN_FUZZ(bertrain::fuzz)
