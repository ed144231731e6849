// TensorFlow 2 checkpoints under Google's names: files of the reference programs, and layouts whose
// files are too large to keep, made here from the names that they have.
#include "checkpoint/tf2_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/error.h"
#include "formats/object_graph.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const std::string kData = BERTRAIN_TEST_DATA "/tf2/";

std::unique_ptr<CheckpointReader> open_named(const std::string& path) {
  return name_objects(open_checkpoint(path));
}

void expect_equal(const CheckpointReader& got, const CheckpointReader& want,
                  const std::string& name) {
  Array a = got.read(name), b = want.read(name);
  ASSERT_EQ(a.type, b.type) << name;
  EXPECT_EQ(std::memcmp(a.bytes.get(), b.bytes.get(), a.byte_size()), 0) << name;
}

TEST(Tf2Objects, AnEncoderFileHasTheTensorsOfTheTf1FileThatItWasMadeOf) {
  auto tf2 = open_named(kData + "encoder"), tf1 = open_checkpoint(kData + "tf1");
  size_t encoder = 0;
  for (const auto& [name, type] : tf1->tensors()) {
    if (!name.starts_with("bert/")) continue;
    ++encoder;
    expect_equal(*tf2, *tf1, name);
  }
  EXPECT_EQ(encoder, 39U);
  EXPECT_EQ(tf2->tensors().size(), encoder);
}

TEST(Tf2Objects, ATrainingCheckpointHasHeadSlotsAndCounter) {
  auto tf2 = open_named(kData + "classifier/ctl_step_14.ckpt-2");
  auto raw = open_checkpoint(kData + "classifier/ctl_step_14.ckpt-2");
  EXPECT_EQ(tf2->tensors().size(), 41U * 3 + 1);
  EXPECT_EQ(tf2->read("global_step").as<int64_t>()[0], 14);
  EXPECT_EQ(tf2->tensors().at("output_weights"), (ArrayType{DType::f32, {2, 32}}));
  EXPECT_EQ(tf2->tensors().at("output_weights/adam_v"), (ArrayType{DType::f32, {2, 32}}));
  Array ours = tf2->read("output_weights"),
        theirs = raw->read(
            "model/layer_with_weights-1/layer_with_weights-0/kernel/.ATTRIBUTES/"
            "VARIABLE_VALUE");
  for (size_t c = 0; c < 2; ++c) {
    for (size_t h = 0; h < 32; ++h) {
      EXPECT_EQ(ours.as<float>()[c * 32 + h], theirs.as<float>()[h * 2 + c]);
    }
  }
  const std::string key = "bert/encoder/layer_1/attention/output/dense/kernel";
  EXPECT_EQ(tf2->tensors().at(key + "/adam_m"), (ArrayType{DType::f32, {32, 32}}));
}

TEST(Tf2Objects, PreTrainingHasBothHeads) {
  auto tf2 = open_named(kData + "pretraining");
  for (const char* name :
       {"cls/predictions/transform/dense/kernel", "cls/predictions/transform/dense/bias",
        "cls/predictions/transform/LayerNorm/gamma", "cls/predictions/transform/LayerNorm/beta",
        "cls/predictions/output_bias", "cls/seq_relationship/output_bias"}) {
    EXPECT_TRUE(tf2->tensors().contains(name)) << name;
  }
  EXPECT_EQ(tf2->tensors().at("cls/seq_relationship/output_weights").shape, (Shape{2, 32}));
  EXPECT_TRUE(tf2->tensors().contains("bert/pooler/dense/kernel"));
}

// The same tensors as TensorFlow 2.21 writes them in three files: by TF 1's Saver, whose devices are
// apart, and as objects, where the word table has no key but the masked LM's.
TEST(Tf2Objects, FilesInSeveralShardsOfTensorFlowItselfAreTheSame) {
  auto tf1 = open_checkpoint(kData + "tensorflow/tf1/model.ckpt-77");
  auto tf2 = open_named(kData + "tensorflow/tf2/ckpt-1");
  EXPECT_EQ(tf1->tensors().size(), 46U);
  EXPECT_EQ(tf2->tensors().size(), 46U);
  for (const auto& [name, type] : tf1->tensors()) expect_equal(*tf2, *tf1, name);
}

// What the encoder's file became: its graph with other names, and the tensors of those keys.
std::unique_ptr<CheckpointReader> rewritten(const std::function<void(ObjectGraph&)>& change) {
  // A name of the test's own: tests run beside each other.
  std::string to =
      testing::TempDir() + "tf2_" + testing::UnitTest::GetInstance()->current_test_info()->name();
  auto reader = open_checkpoint(kData + "encoder");
  ObjectGraph graph = parse_object_graph(*reader->object_graph());
  change(graph);
  auto writer = create_checkpoint(to, CheckpointFormat::tf_bundle);
  for (const auto& [key, type] : reader->tensors()) writer->write(key, reader->read(key));
  writer->write_object_graph(message_of(graph));
  writer->commit();
  return open_named(to);
}

size_t child(const ObjectGraph& graph, std::initializer_list<std::string_view> names) {
  return *graph.find(0, names);
}

void rename(ObjectGraph::Node& node, std::string_view from, const std::string& to) {
  for (auto& c : node.children) {
    if (c.name == from) c.name = to;
  }
}

// Layouts of later programs: the root is called encoder, the attention's output lies in its object,
// the pooler is the next sentence's, the word table has only the masked LM's key.
TEST(Tf2Objects, FollowsTheGraphWhateverTheKeysSay) {
  auto tf1 = open_checkpoint(kData + "tf1");
  auto later = rewritten([](ObjectGraph& graph) {
    rename(graph.nodes[0], "model", "encoder");
    for (std::string layer : {"layer_with_weights-4", "layer_with_weights-5"}) {
      size_t transformer = child(graph, {"encoder", layer});
      size_t dense = child(graph, {"encoder", layer, "_attention_output_dense"});
      rename(graph.nodes[transformer], "_attention_output_dense", "other");
      size_t attention = child(graph, {"encoder", layer, "_attention_layer"});
      graph.nodes[transformer].children.erase(std::find_if(
          graph.nodes[transformer].children.begin(), graph.nodes[transformer].children.end(),
          [](const auto& c) { return c.name == "other"; }));
      graph.nodes[attention].children.push_back({"_output_dense", dense});
    }
    size_t pooler = child(graph, {"encoder", "layer_with_weights-6"});
    rename(graph.nodes[child(graph, {"encoder"})], "layer_with_weights-6", "layer-99");
    graph.nodes[0].children.push_back({"next_sentence.pooler_dense", pooler});
    size_t table = child(graph, {"encoder", "layer_with_weights-0", "embeddings"});
    graph.nodes.push_back({{{"embedding_table", table}}, std::nullopt, "", {}});
    graph.nodes[0].children.push_back({"masked_lm", graph.nodes.size() - 1});
  });
  for (const auto& [name, type] : tf1->tensors()) {
    if (name.starts_with("bert/")) expect_equal(*later, *tf1, name);
  }
}

TEST(Tf2Objects, WhatIsNoModelOfOursKeepsItsKeys) {
  auto other = rewritten([](ObjectGraph& graph) {
    for (auto& node : graph.nodes) rename(node, "_attention_layer", "attention");
  });
  EXPECT_TRUE(other->tensors().contains(
      "model/layer_with_weights-0/embeddings/.ATTRIBUTES/VARIABLE_VALUE"));
}

TEST(Tf2Objects, HeadsAreCountedWhereTheFileKeepsThemApart) {
  for (const char* file : {"encoder", "classifier", "pretraining"}) {
    EXPECT_EQ(attention_heads(*open_checkpoint(kData + file)), std::optional<int64_t>(2)) << file;
  }
}

TEST(Tf2Objects, DamagedGraphsAreErrors) {
  EXPECT_THAT([] { rewritten([](ObjectGraph& graph) { graph.nodes.clear(); }); },
              ThrowsMessage<Error>(HasSubstr("OBJECT_GRAPH: no objects are in it")));
  EXPECT_THAT(
      [] { rewritten([](ObjectGraph& graph) {
             graph.nodes[3].children.push_back({"x", 9999});
           }); },
      ThrowsMessage<Error>(HasSubstr("object 9999 of 91 is referred to")));
  EXPECT_THAT(
      [] {
        rewritten([](ObjectGraph& graph) {
          size_t table = child(graph, {"model", "layer_with_weights-0", "embeddings"});
          graph.nodes[table].key = "gone";
        });
      },
      ThrowsMessage<Error>(HasSubstr("has values of bert/embeddings/word_embeddings at 'gone'")));
}

}  // namespace
}  // namespace bertrain
