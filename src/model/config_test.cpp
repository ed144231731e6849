// Model shapes from JSON: defaults, activation names of both kinds, and messages for bad values.
#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/error_message.h"

namespace bertrain {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text, bool google = true) {
  return message_of([&] {
    Json json = Json::parse(text);
    google ? config_from_google(json, "c.json") : config_from_hugging_face(json, "c.json");
  });
}

TEST(Config, GoogleDefaultsAndUnknownKeys) {
  BertConfig c = config_from_google(
      Json::parse(R"({"vocab_size": 586, "directionality": "bidi", "pooler_fc_size": 768})"), "c");
  EXPECT_EQ(c.vocab_size, 586);
  EXPECT_EQ(c.hidden_size, 768);
  EXPECT_EQ(c.type_vocab_size, 16);
  EXPECT_EQ(c.hidden_act, Activation::gelu_tanh);
}

TEST(Config, GeluMeansTwoThings) {
  Json json = Json::parse(R"({"vocab_size": 9, "hidden_act": "gelu"})");
  BertConfig google = config_from_google(json, "c"), hf = config_from_hugging_face(json, "c");
  EXPECT_EQ(google.hidden_act, Activation::gelu_tanh);
  EXPECT_EQ(hf.hidden_act, Activation::gelu_erf);
  EXPECT_EQ(config_to_hugging_face(google)["hidden_act"], "gelu_new");
  EXPECT_EQ(config_to_hugging_face(hf)["hidden_act"], "gelu");
  EXPECT_EQ(config_to_google(google)["hidden_act"], "gelu");
}

TEST(Config, LinearHasThreeNames) {
  for (const char* act : {"\"\"", "\"linear\"", "null"}) {
    Json json = Json::parse(fmt::format(R"({{"vocab_size": 9, "hidden_act": {}}})", act));
    EXPECT_EQ(config_from_google(json, "c").hidden_act, Activation::none) << act;
  }
}

TEST(Config, RoundTrips) {
  BertConfig c;
  c.vocab_size = 100;
  c.hidden_size = 48;
  c.num_attention_heads = 3;
  c.hidden_act = Activation::relu;
  c.hidden_dropout_prob = 0.25;
  c.layer_norm_eps = 1e-3;
  for (const BertConfig& back : {config_from_google(config_to_google(c), "c"),
                                 config_from_hugging_face(config_to_hugging_face(c), "c")}) {
    EXPECT_EQ(config_to_google(back), config_to_google(c));
    EXPECT_EQ(back.layer_norm_eps, 1e-3);
  }
}

TEST(Config, RobertaCountsPositionsBehindItsPadding) {
  Json json = Json::parse(R"({"model_type": "roberta", "max_position_embeddings": 514,
                              "type_vocab_size": 1, "layer_norm_eps": 1e-5})");
  BertConfig c = config_from_hugging_face(json, "c");
  EXPECT_EQ(c.family, Family::roberta);
  EXPECT_EQ(c.vocab_size, 50265);
  EXPECT_EQ(c.first_position, 2);
  EXPECT_EQ(c.positions(), 512);
  EXPECT_EQ(c.hidden_act, Activation::gelu_erf);
  Json back = config_to_hugging_face(c);
  EXPECT_EQ(back["model_type"], "roberta");
  EXPECT_EQ(back["pad_token_id"], 1);
  EXPECT_EQ(config_to_hugging_face(config_from_hugging_face(back, "c")), back);
  EXPECT_EQ(BertConfig{}.positions(), 512);
}

TEST(Config, ErrorsNameKeyValueAndExpectation) {
  EXPECT_THAT(refusal("[]"), HasSubstr("c.json: a JSON object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("vocab_size is missing"));
  EXPECT_THAT(refusal(R"({"vocab_size": null})"), HasSubstr("vocab_size is null; a whole"));
  EXPECT_THAT(refusal(R"({"vocab_size": 0})"), HasSubstr("vocab_size is 0"));
  EXPECT_THAT(refusal(R"({"vocab_size": 18446744073709551615})"), HasSubstr("whole number"));
  EXPECT_THAT(refusal(R"({"vocab_size": -3})"), HasSubstr("vocab_size is -3"));
  EXPECT_THAT(refusal(R"({"vocab_size": 9, "hidden_size": 10.5})"), HasSubstr("10.5; a whole"));
  EXPECT_THAT(refusal(R"({"vocab_size": 9, "hidden_act": "swish"})"),
              HasSubstr("hidden_act is \"swish\"; one of gelu"));
  EXPECT_THAT(refusal(R"({"vocab_size": 9, "hidden_dropout_prob": 1})"),
              HasSubstr("hidden_dropout_prob is 1"));
  EXPECT_THAT(refusal(R"({"vocab_size": 9, "hidden_size": 10, "num_attention_heads": 3})"),
              HasSubstr("hidden_size is 10; a multiple of num_attention_heads (3)"));
  EXPECT_THAT(refusal(R"({"model_type": "albert"})", false),
              HasSubstr("model_type is \"albert\"; \"bert\" or \"roberta\" expected"));
  EXPECT_THAT(refusal(R"({"model_type": "roberta", "hidden_act": "relu"})", false),
              HasSubstr("hidden_act is \"relu\"; \"gelu\" expected"));
  EXPECT_THAT(refusal(R"({"model_type": "roberta", "pad_token_id": -1})", false),
              HasSubstr("pad_token_id is -1; a whole number from 0"));
  EXPECT_THAT(refusal(R"({"model_type": "roberta", "max_position_embeddings": 2})", false),
              HasSubstr("more than pad_token_id + 1 (2)"));
}

TEST(Config, ParametersAreCountedBeforeAnythingIsBuilt) {
  BertConfig base;
  base.vocab_size = 30522;
  base.type_vocab_size = 2;
  EXPECT_EQ(parameter_count(base), 109482240U);  // of bert-base-uncased with its pooler
}

}  // namespace
}  // namespace bertrain
