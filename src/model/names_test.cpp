// Names of both worlds: every parameter there and back, and the forms that files in the wild have.
#include "model/names.h"

#include <gtest/gtest.h>

#include <set>

namespace bertrain {
namespace {

std::vector<std::string> our_names() {
  std::vector<std::string> names = {"bert/embeddings/word_embeddings",
                                    "bert/embeddings/position_embeddings",
                                    "bert/embeddings/token_type_embeddings",
                                    "cls/predictions/output_bias",
                                    "cls/seq_relationship/output_weights",
                                    "cls/seq_relationship/output_bias",
                                    "output_weights",
                                    "output_bias",
                                    "cls/squad/output_weights",
                                    "cls/squad/output_bias"};
  auto add = [&](const std::string& scope, std::initializer_list<const char*> ends) {
    for (const char* end : ends) names.push_back(scope + "/" + end);
  };
  add("bert/embeddings/LayerNorm", {"beta", "gamma"});
  add("bert/pooler/dense", {"kernel", "bias"});
  add("cls/predictions/transform/dense", {"kernel", "bias"});
  add("cls/predictions/transform/LayerNorm", {"beta", "gamma"});
  for (const char* layer : {"bert/encoder/layer_0", "bert/encoder/layer_11"}) {
    std::string l = layer;
    for (const char* dense :
         {"/attention/self/query", "/attention/self/key", "/attention/self/value",
          "/attention/output/dense", "/intermediate/dense", "/output/dense"}) {
      add(l + dense, {"kernel", "bias"});
    }
    add(l + "/attention/output/LayerNorm", {"beta", "gamma"});
    add(l + "/output/LayerNorm", {"beta", "gamma"});
  }
  return names;
}

TEST(Names, EveryParameterThereAndBack) {
  std::set<std::string> seen;
  for (const std::string& name : our_names()) {
    std::string theirs = to_hugging_face(name);
    EXPECT_NE(theirs, "") << name;
    EXPECT_EQ(theirs.find('/'), std::string::npos) << theirs;
    EXPECT_TRUE(seen.insert(theirs).second) << theirs;
    EXPECT_EQ(from_hugging_face(theirs), name);
  }
}

TEST(Names, AsTransformersWritesThem) {
  EXPECT_EQ(to_hugging_face("bert/encoder/layer_10/attention/output/LayerNorm/gamma"),
            "bert.encoder.layer.10.attention.output.LayerNorm.weight");
  EXPECT_EQ(to_hugging_face("bert/encoder/layer_3/intermediate/dense/kernel"),
            "bert.encoder.layer.3.intermediate.dense.weight");
  EXPECT_EQ(to_hugging_face("cls/predictions/transform/dense/bias"),
            "cls.predictions.transform.dense.bias");
  EXPECT_EQ(to_hugging_face("output_weights"), "classifier.weight");
  EXPECT_EQ(to_hugging_face("cls/squad/output_bias"), "qa_outputs.bias");
}

TEST(Names, FormsInTheWild) {
  const char* gamma = "bert/encoder/layer_0/output/LayerNorm/gamma";
  EXPECT_EQ(from_hugging_face("bert.encoder.layer.0.output.LayerNorm.gamma"), gamma);
  EXPECT_EQ(from_hugging_face("module.bert.encoder.layer.0.output.LayerNorm.weight"), gamma);
  EXPECT_EQ(from_hugging_face("encoder.layer.0.output.LayerNorm.weight"), gamma);
  EXPECT_EQ(from_hugging_face("module.module.pooler.dense.weight"), "bert/pooler/dense/kernel");
  EXPECT_EQ(from_hugging_face("module.classifier.bias"), "output_bias");
}

TEST(Names, RobertaHasItsOwn) {
  std::vector<std::string> names = our_names();
  names.insert(names.end(), {"classifier/dense/kernel", "classifier/dense/bias"});
  std::set<std::string> seen;
  for (const std::string& name : names) {
    std::string theirs = to_hugging_face_roberta(name);
    EXPECT_TRUE(seen.insert(theirs).second) << theirs;
    EXPECT_EQ(from_hugging_face(theirs), name);
    EXPECT_EQ(from_hugging_face("module." + theirs), name);
  }
  EXPECT_EQ(to_hugging_face_roberta("bert/encoder/layer_3/intermediate/dense/kernel"),
            "roberta.encoder.layer.3.intermediate.dense.weight");
  EXPECT_EQ(to_hugging_face_roberta("cls/predictions/transform/LayerNorm/gamma"),
            "lm_head.layer_norm.weight");
  EXPECT_EQ(to_hugging_face_roberta("output_weights"), "classifier.out_proj.weight");
  EXPECT_EQ(to_hugging_face("classifier/dense/kernel"), "");
  EXPECT_EQ(from_hugging_face("lm_head.decoder.weight"), "");
  EXPECT_EQ(from_hugging_face("roberta.embeddings.position_ids"), "");
  EXPECT_TRUE(are_hugging_face({"roberta.embeddings.word_embeddings.weight"}));
}

// RobertaForTokenClassification has one layer where the classifier of texts has two.
TEST(Names, OfATaggerAreAlikeInBothFamilies) {
  for (Family family : {Family::bert, Family::roberta}) {
    EXPECT_EQ(to_hugging_face_of(family, true)("output_weights"), "classifier.weight");
    EXPECT_EQ(to_hugging_face_of(family, true)("output_bias"), "classifier.bias");
  }
  EXPECT_EQ(to_hugging_face_of(Family::roberta, true)("bert/embeddings/word_embeddings"),
            "roberta.embeddings.word_embeddings.weight");
  EXPECT_EQ(to_hugging_face_of(Family::roberta)("output_bias"), "classifier.out_proj.bias");
}

TEST(Names, WhatIsNoParameterIsLeftOut) {
  EXPECT_EQ(from_hugging_face("cls.predictions.decoder.weight"), "");
  EXPECT_EQ(from_hugging_face("cls.predictions.decoder.bias"), "");
  EXPECT_EQ(from_hugging_face("embeddings.position_ids"), "");
  EXPECT_EQ(to_hugging_face("global_step"), "");
  EXPECT_EQ(to_hugging_face("bert/pooler/dense/kernel/adam_m"), "");
}

TEST(Names, OtherNamesAreLeftAlone) {
  for (const char* name :
       {"bert/pooler/dense/kernel", "global_step", "roberta.contact_head.dense.weight",
        "bert.encoder.layer.0.crossattention.what", "", "."}) {
    EXPECT_EQ(from_hugging_face(name), name);
  }
  EXPECT_TRUE(are_hugging_face({"x", "bert.embeddings.word_embeddings.weight"}));
  EXPECT_FALSE(are_hugging_face({"bert/embeddings/word_embeddings"}));
}

TEST(Names, Kernels) {
  EXPECT_TRUE(is_kernel("bert/pooler/dense/kernel"));
  EXPECT_FALSE(is_kernel("cls/seq_relationship/output_weights"));
  EXPECT_FALSE(is_kernel("bert/embeddings/word_embeddings"));
}

}  // namespace
}  // namespace bertrain
