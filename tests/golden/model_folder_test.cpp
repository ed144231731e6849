// A reference checkpoint through a model folder and back, to the bit, under any naming.
#include "checkpoint/model_folder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/config.h"
#include "model/names.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

const std::string kData = BERTRAIN_TEST_DATA "/tf1_pretrain";

// The parameters of the reference run, without slots and counters.
Named<Array> parameters() {
  Named<Array> all;
  auto reader = open_checkpoint(kData + "/trained");
  for (const auto& [name, type] : reader->tensors()) {
    if (!to_hugging_face(name).empty()) all[name] = reader->read(name);
  }
  return all;
}

void expect_parameters(std::unique_ptr<CheckpointReader> from) {
  auto reader = rename_tensors(std::move(from), from_hugging_face, is_kernel);
  Named<Array> all = parameters();
  ASSERT_EQ(reader->tensors().size(), all.size());
  for (const auto& [name, array] : all) {
    Array back = reader->read(name);
    EXPECT_EQ(back.type, array.type) << name;
    EXPECT_TRUE(std::ranges::equal(back.raw(), array.raw())) << name;
  }
}

TEST(ModelFolderOfReference, ThereAndBack) {
  ModelFolder folder;
  Json google = Json::parse(read_text(kData + "/bert_config.json"));
  BertConfig config = config_from_google(google, "bert_config.json");
  folder.config = config_to_hugging_face(config);
  folder.architecture = "BertForPreTraining";
  folder.vocabulary = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  Named<Array> all = parameters();
  EXPECT_EQ(all.size(), 46u);
  write_model_folder("mem://reference", folder, all, to_hugging_face, is_kernel);
  auto reader = open_checkpoint("mem://reference");
  EXPECT_EQ(reader->tensors().at("bert.encoder.layer.0.intermediate.dense.weight").shape,
            (Shape{128, 32}));
  expect_parameters(std::move(reader));
  ModelFolder back = read_model_folder("mem://reference");
  EXPECT_EQ(config_to_google(config_from_hugging_face(back.config, "config.json")),
            config_to_google(config));
}

// Files in the wild: wrapped in "module.", LayerNorm with gamma and beta, the tied matrix stored too.
TEST(ModelFolderOfReference, NamesInTheWild) {
  auto writer = create_checkpoint("mem://wild.safetensors", CheckpointFormat::safetensors);
  for (const auto& [name, array] : parameters()) {
    std::string renamed = to_hugging_face(name);
    size_t norm = renamed.find("LayerNorm.");
    if (norm != std::string::npos) {
      renamed = renamed.substr(0, norm) +
                (name.ends_with("gamma") ? "LayerNorm.gamma" : "LayerNorm.beta");
    }
    writer->write("module." + renamed, is_kernel(name) ? transposed(array) : array);
    if (renamed == "bert.embeddings.word_embeddings.weight") {
      writer->write("module.cls.predictions.decoder.weight", array);
    }
  }
  writer->write("module.bert.embeddings.position_ids", zeros({DType::i64, {1, 64}}));
  writer->commit();
  expect_parameters(open_checkpoint("mem://wild.safetensors"));
}

// Names that are ours already pass through the same door.
TEST(ModelFolderOfReference, OurNamesStay) {
  auto reader = rename_tensors(open_checkpoint(kData + "/trained"), from_hugging_face, is_kernel);
  EXPECT_EQ(reader->tensors(), open_checkpoint(kData + "/trained")->tensors());
}

}  // namespace
}  // namespace bertrain
