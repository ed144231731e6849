// Model folders: what is written, what is read back, and folders of others.
#include "checkpoint/model_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/error_message.h"
#include "storage/gzip.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ModelFolder sample() {
  ModelFolder folder;
  folder.config = {{"hidden_size", 4}, {"hidden_act", "gelu_new"}, {"layer_norm_eps", 1e-12}};
  folder.architecture = "BertForSequenceClassification";
  folder.labels = {"no", "yes", "ünsure"};
  folder.problem_type = "single_label_classification";
  folder.classifier_dropout = 0.1;
  folder.vocabulary = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b", "a"};
  folder.do_lower_case = false;
  folder.max_length = 64;
  folder.bertrain = {{"task", "classification"}};
  return folder;
}

Named<Array> weights() {
  Named<Array> w;
  w["x/kernel"] = make_array<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  w["x/bias"] = make_array<float>({3}, std::vector<float>{7, 8, 9});
  return w;
}

std::string rename(std::string_view name) { return name == "x/kernel" ? "x.weight" : "x.bias"; }
bool transposes(std::string_view name) { return name == "x/kernel"; }

Json json_at(const std::string& uri) { return Json::parse(read_text(uri)); }

TEST(ModelFolder, HoldsWhatTransformersReads) {
  write_model_folder("mem://model", sample(), weights(), rename, transposes);
  Json config = json_at("mem://model/config.json");
  EXPECT_EQ(config["architectures"], Json::array({"BertForSequenceClassification"}));
  EXPECT_EQ(config["model_type"], "bert");
  EXPECT_EQ(config["hidden_act"], "gelu_new");
  EXPECT_EQ(config["id2label"]["2"], "ünsure");
  EXPECT_EQ(config["label2id"]["ünsure"], 2);
  EXPECT_EQ(read_text("mem://model/vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\na\n");
  auto reader = open_checkpoint("mem://model");
  EXPECT_THAT(reader->read("x.weight").as<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(reader->read("x.weight").type.shape, (Shape{3, 2}));
  EXPECT_THAT(reader->read("x.bias").as<float>(), ElementsAre(7, 8, 9));
}

TEST(ModelFolder, SaysWhichFilesAreMissing) {
  EXPECT_EQ(missing_model_files("mem://none").size(), 7u);
  write_model_folder("mem://part", sample(), weights(), rename, transposes);
  EXPECT_THAT(missing_model_files("mem://part"), ElementsAre());
  storage_for("mem://part").remove("mem://part/vocab.txt");
  EXPECT_THAT(missing_model_files("mem://part"), ElementsAre("vocab.txt"));
}

TEST(ModelFolder, OneOfTransformersIsWrittenAndReadBack) {
  ModelFolder folder = sample();
  folder.bertrain = nullptr;  // as read from a folder without bertrain.json
  write_model_folder("mem://foreign", folder, weights(), rename, transposes);
  EXPECT_EQ(read_model_folder("mem://foreign").bertrain, Json::object());
}

TEST(ModelFolder, ClassesWithoutNamesAreTransformersDefault) {
  auto labels = [](const std::string& more) {
    write_text("mem://plain/config.json",
               R"({"architectures": ["BertForSequenceClassification"])" + more + "}");
    return read_model_folder("mem://plain").labels;
  };
  EXPECT_THAT(labels(""), ElementsAre("LABEL_0", "LABEL_1"));
  EXPECT_THAT(labels(R"(, "num_labels": 3)"), ElementsAre("LABEL_0", "LABEL_1", "LABEL_2"));
  EXPECT_THAT(labels(R"(, "id2label": {"0": "x"})"), ElementsAre("x"));
  EXPECT_THAT(labels(R"(, "problem_type": "regression")"), ElementsAre());
}

TEST(ModelFolder, HoldsTheTokenizer) {
  write_model_folder("mem://model", sample(), weights(), rename, transposes);
  Json tokenizer = json_at("mem://model/tokenizer.json");
  EXPECT_EQ(tokenizer["normalizer"]["lowercase"], false);
  EXPECT_TRUE(tokenizer["normalizer"]["strip_accents"].is_null());
  EXPECT_EQ(tokenizer["model"]["max_input_chars_per_word"], 200);
  EXPECT_EQ(tokenizer["model"]["vocab"]["a"], 7);  // of equal lines the last counts
  EXPECT_EQ(tokenizer["model"]["vocab"].size(), 7u);
  EXPECT_EQ(tokenizer["post_processor"]["special_tokens"]["[SEP]"]["ids"], Json::array({3}));
  EXPECT_EQ(tokenizer["added_tokens"].size(), 5u);
  Json config = json_at("mem://model/tokenizer_config.json");
  EXPECT_EQ(config["do_lower_case"], false);
  EXPECT_EQ(config["special_tokens_in_text"], false);
  EXPECT_EQ(config["split_special_tokens"], true);  // so that transformers agrees
  EXPECT_EQ(config["model_max_length"], 64);
  EXPECT_EQ(config["model_input_names"].size(), 3u);
  EXPECT_EQ(json_at("mem://model/special_tokens_map.json")["mask_token"], "[MASK]");
}

TEST(ModelFolder, HoldsAsManyLabelsAsAClassifierMayHave) {
  ModelFolder folder = sample();
  folder.labels.clear();
  for (int i = 0; i < 10'000; ++i) {
    folder.labels.push_back(std::to_string(i) + std::string(100, '\x01'));  // \u0001 in JSON
  }
  folder.bertrain = {{"labels", folder.labels}};
  write_model_folder("mem://model", folder, weights(), rename, transposes);
  ModelFolder back = read_model_folder("mem://model");
  EXPECT_EQ(back.labels, folder.labels);
  EXPECT_EQ(back.bertrain, folder.bertrain);
}

TEST(ModelFolder, RoundTrip) {
  ModelFolder folder = sample();
  folder.strip_accents = true;
  folder.special_tokens_in_text = true;
  write_model_folder("mem://model", folder, weights(), rename, transposes);
  ModelFolder back = read_model_folder("mem://model/");
  EXPECT_EQ(back.architecture, folder.architecture);
  EXPECT_EQ(back.labels, folder.labels);
  EXPECT_EQ(back.problem_type, folder.problem_type);
  EXPECT_EQ(back.classifier_dropout, folder.classifier_dropout);
  EXPECT_TRUE(back.vocabulary.empty());
  EXPECT_EQ(back.do_lower_case, false);
  EXPECT_TRUE(back.special_tokens_in_text);
  EXPECT_EQ(back.strip_accents, std::optional<bool>(true));
  EXPECT_EQ(back.max_chars_per_word, 200);
  EXPECT_EQ(back.max_length, 64);
  EXPECT_EQ(back.bertrain, folder.bertrain);
  folder.config["model_type"] = "bert";
  EXPECT_EQ(nlohmann::json(back.config), nlohmann::json(folder.config));
}

TEST(ModelFolder, FolderOfOthers) {
  EXPECT_FALSE(is_model_folder("mem://other"));
  EXPECT_THAT(message_of([] { read_model_folder("mem://other"); }),
              HasSubstr("mem://other: not a model folder: there is no config.json in it"));
  write_text("mem://other/config.json",
             R"({"vocab_size": 7, "max_position_embeddings": 512, "classifier_dropout": null})");
  write_text("mem://other/tokenizer_config.json",
             R"({"do_lower_case": true, "strip_accents": null, "model_max_length": 1e30})");
  EXPECT_TRUE(is_model_folder("mem://other"));
  ModelFolder folder = read_model_folder("mem://other");
  EXPECT_TRUE(folder.bertrain.is_null());
  EXPECT_TRUE(folder.labels.empty());
  EXPECT_FALSE(folder.classifier_dropout);
  EXPECT_FALSE(folder.strip_accents);
  EXPECT_EQ(folder.max_length, 512);
}

// tokenizer.json alone, tokenizer_config.json alone, both, neither.
TEST(ModelFolder, CasingIsSaidByEitherFile) {
  const std::string folder = "mem://cased/";
  write_text(folder + "config.json", "{}");
  EXPECT_TRUE(read_model_folder(folder).do_lower_case);
  EXPECT_FALSE(read_model_folder(folder).says_casing);
  auto with_tokenizer = [&](const std::string& normalizer) {
    write_text(folder + "tokenizer.json", fmt::format(R"({{"normalizer": {}}})", normalizer));
  };
  with_tokenizer("null");
  EXPECT_FALSE(read_model_folder(folder).says_casing);
  with_tokenizer(R"({"type": "BertNormalizer", "lowercase": false, "strip_accents": true})");
  EXPECT_TRUE(read_model_folder(folder).says_casing);
  EXPECT_FALSE(read_model_folder(folder).do_lower_case);
  EXPECT_EQ(read_model_folder(folder).strip_accents, std::optional<bool>(true));
  write_text(folder + "tokenizer_config.json", R"({"do_lower_case": false})");
  EXPECT_FALSE(read_model_folder(folder).do_lower_case);
  write_text(folder + "tokenizer_config.json", R"({"do_lower_case": true})");
  EXPECT_THAT(message_of([&] { read_model_folder(folder); }),
              HasSubstr("tokenizer.json: normalizer.lowercase is false, but tokenizer_config.json "
                        "has do_lower_case = true"));
  with_tokenizer(R"({"lowercase": true})");
  EXPECT_TRUE(read_model_folder(folder).do_lower_case);
  write_text(folder + "tokenizer.json", "{");
  EXPECT_THAT(message_of([&] { read_model_folder(folder); }), HasSubstr("this is not JSON"));
}

TEST(ModelFolder, DamageIsNamed) {
  auto with_config = [](const std::string& text) {
    write_text("mem://bad/config.json", text);
    return message_of([] { read_model_folder("mem://bad"); });
  };
  EXPECT_THAT(with_config("{"), HasSubstr("bad/config.json:1:2: this is not JSON: "));
  EXPECT_THAT(with_config("[]"), HasSubstr("bad/config.json: the content is []; a JSON object"));
  for (const char* labels : {"3", "[\"a\"]", R"({"0":"a","2":"b"})", R"({"0":1})", R"({"x":"a"})",
                             R"({"0":"a","00":"b"})"}) {
    EXPECT_THAT(with_config(fmt::format("{{\"id2label\": {}}}", labels)),
                HasSubstr("id2label must name the classes"));
  }
  EXPECT_EQ(with_config("{}"), "no error");
  write_text("mem://bad/tokenizer_config.json", R"({"do_lower_case": 3})");
  EXPECT_THAT(message_of([] { read_model_folder("mem://bad"); }),
              HasSubstr("bad/tokenizer_config.json: do_lower_case is 3; true or false expected"));
}

TEST(ModelFolder, TokenizersOfAnotherKindAreRefusedByTheirSetting) {
  write_model_folder("mem://other", sample(), weights(), rename, transposes);
  for (const auto& [settings, text] : std::vector<std::pair<std::string, std::string>>{
           {R"({"tokenize_chinese_chars": false})", "tokenize_chinese_chars is false; true"},
           {R"({"do_basic_tokenize": false})", "do_basic_tokenize is false; true"},
           {R"({"never_split": ["x"]})", "never_split is [\"x\"]; null"},
           {R"({"sep_token": "</s>"})", "sep_token is \"</s>\"; \"[SEP]\""},
           {R"({"cls_token": {"content": "<s>"}})", "cls_token.content is \"<s>\"; \"[CLS]\""}}) {
    for (const char* file : {"tokenizer_config.json", "special_tokens_map.json"}) {
      std::string uri = std::string("mem://other/") + file, whole = read_text(uri);
      write_text(uri, settings);
      EXPECT_THAT(message_of([] { read_model_folder("mem://other"); }),
                  HasSubstr(uri + ": " + text));
      write_text(uri, whole);
    }
  }
  write_text("mem://other/tokenizer_config.json",
             R"({"sep_token": {"content": "[SEP]"}, "mask_token": null, "never_split": null})");
  read_model_folder("mem://other");
}

TEST(ModelFolder, PackedFilesAreBoundedByWhatTheyUnpackTo) {
  write_model_folder("mem://packed", sample(), weights(), rename, transposes);
  auto pack = [](const std::string& text) {
    auto writer =
        pack_gzip(storage_for("mem://").create("mem://packed/config.json", Exists::replace));
    writer->append(std::as_bytes(std::span(text)));
    writer->commit();
  };
  pack("{}");
  read_model_folder("mem://packed");
  pack("{" + std::string(17 << 20, ' ') + "}");
  EXPECT_EQ(message_of([] { read_model_folder("mem://packed"); }),
            "mem://packed/config.json: has more than 16777216 bytes, which no such file has");
}

TEST(ModelFolder, WhatCannotBeWrittenIsAnError) {
  auto no_name = [](std::string_view) { return std::string(); };
  EXPECT_THAT(
      message_of([&] { write_model_folder("mem://m", sample(), weights(), no_name, transposes); }),
      HasSubstr("no name is known for parameter 'x/bias'"));
  ModelFolder folder = sample();
  folder.vocabulary.erase(folder.vocabulary.begin() + 3);
  EXPECT_THAT(
      message_of([&] { write_model_folder("mem://m", folder, weights(), rename, transposes); }),
      HasSubstr("the vocabulary has no [SEP]"));
}

}  // namespace
}  // namespace bertrain
