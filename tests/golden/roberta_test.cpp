// A small RoBERTa of transformers: tokenization, encoder and both heads together give its logits, on
// every backend.
#include <gtest/gtest.h>

#include "checkpoint/model_folder.h"
#include "model/bert.h"
#include "model/heads.h"
#include "model/names.h"
#include "storage/storage.h"
#include "task/encoder_inputs.h"
#include "task/pair_input.h"
#include "text/byte_bpe_files.h"
#include "tiny_bert.h"

namespace bertrain {
namespace {

constexpr double kBound = 1e-5;

// Logits of both heads.
class BothHeads final : public Task {
 public:
  explicit BothHeads(const BertConfig& config) : config_(config) {}
  std::vector<std::string> splits() const override { return {}; }
  Schema schema() const override { return {{"weight", {DType::f32, Axis::target, {}}}}; }
  std::vector<LossTerm> terms() const override { return {}; }
  ExampleStream examples(std::string_view) const override { return nullptr; }
  std::optional<uint64_t> count(std::string_view) const override { return std::nullopt; }
  int64_t max_seq_length() const override { return config_.positions(); }
  int64_t max_targets() const override { return 1; }
  Outputs build(const Scope& scope, const Inputs& batch) const override {
    Tensor hidden = bert(scope, config_, encoder_slots(batch)), number = batch.at("example_number");
    ClassifierHead head{3, 0.1};
    Tensor input = classifier_input(scope, config_, head, hidden, batch.at("first_slot"), number);
    return {{},
            {{"logits", classifier_logits(scope, head, input, number)},
             {"words", masked_lm_logits(scope, config_, hidden, batch.at("target_slot"))}}};
  }
  std::unique_ptr<Rows> rows() const override { return nullptr; }
  std::unique_ptr<Scorer> scorer() const override { return nullptr; }
  Json describe() const override { return {}; }

 private:
  BertConfig config_;
};

class Roberta : public testing::TestWithParam<NamedBackend> {};

TEST_P(Roberta, EqualsTransformers) {
  std::unique_ptr<Backend> backend = GetParam().make();
  if (!backend) GTEST_SKIP() << kNoPlugin;
  std::string folder = golden_path("roberta");
  BertConfig config = config_from_hugging_face(read_model_folder(folder).config, "config.json");
  EXPECT_EQ(config.positions(), 48);
  BothHeads task(config);
  State state(*backend, parameters_of(task), nullptr);
  state.initialise(1);
  LoadReport report =
      state.load_parameters(*rename_tensors(open_checkpoint(folder), from_hugging_face, is_kernel));
  EXPECT_TRUE(report.missing.empty());
  EXPECT_TRUE(report.unused.empty());

  Tokenizer tokenizer(read_byte_bpe(golden_path("byte_bpe")), {});
  PairEncoder encoder(tokenizer, config.positions(), true);
  Json rows = Json::parse(read_text(folder + "/expected.json"));
  std::vector<Example> examples;
  for (const Json& row : rows) {
    PairInput input =
        encoder.encode(row["text"].get<std::string>(), row["text_b"].get<std::string>());
    EXPECT_EQ(Json(input.ids), row["ids"]) << row["text"];
    EXPECT_EQ(input.first, input.ids.size());
    Example& example = examples.emplace_back();
    add_input(example, input.ids.data(), input.ids.size(), input.first);
    example["target_positions"] = std::vector<int64_t>{1};
    example["weight"] = std::vector<float>{1};
    example["row"] = std::vector<int64_t>{std::ssize(examples) - 1};
  }
  Batch batch = pack_one(task, examples, {.filling = 2});
  Named<Array> got = EvaluationRunner(task, state).run({&batch, 1}).front().predictions;
  auto slots = batch.arrays.at("target_slot").as<int32_t>();
  auto owner = batch.arrays.at("example").as<int32_t>();
  for (size_t e = 0; e < rows.size(); ++e) {
    const Json& want = rows[static_cast<size_t>(batch.row[e])];
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(got.at("logits").as<float>()[e * 3 + c], want["logits"][c].get<double>(), kBound);
    }
    auto place = static_cast<size_t>(owner[static_cast<size_t>(slots[e])]);
    const Json& words = rows[static_cast<size_t>(batch.row[place])]["word_logits"];
    auto width = static_cast<size_t>(config.vocab_size);
    for (size_t i = 0; i < words.size(); ++i) {
      ASSERT_NEAR(got.at("words").as<float>()[e * width + 5 * i], words[i].get<double>(), kBound);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Roberta, testing::ValuesIn(golden_and_plugin_backends()),
                         [](const auto& info) { return info.param.name; });

// Under transformers' names and back, to the bit.
TEST(RobertaFolder, ThereAndBack) {
  std::string from = golden_path("roberta");
  Named<Array> weights;
  auto reader = rename_tensors(open_checkpoint(from), from_hugging_face, is_kernel);
  for (const auto& [name, type] : reader->tensors()) weights[name] = reader->read(name);
  ModelFolder folder = read_model_folder(from);
  EXPECT_TRUE(folder.is_roberta());
  BertConfig config = config_from_hugging_face(folder.config, "config.json");
  folder.config = config_to_hugging_face(config);
  Tokenizer tokenizer(read_byte_bpe(golden_path("byte_bpe")), {});
  folder.tokenizer = byte_bpe_files(tokenizer, config.positions());
  write_model_folder("mem://roberta", folder, weights, to_hugging_face_roberta, is_kernel);
  EXPECT_TRUE(missing_model_files("mem://roberta").empty());
  auto old = open_checkpoint(from), again = open_checkpoint("mem://roberta");
  EXPECT_EQ(again->tensors(), old->tensors());
  for (const auto& [name, type] : old->tensors()) {
    Array a = old->read(name), b = again->read(name);
    EXPECT_TRUE(std::ranges::equal(a.raw(), b.raw())) << name;
  }
  ModelFolder back = read_model_folder("mem://roberta");
  EXPECT_EQ(back.architecture, "RobertaForSequenceClassification");
  EXPECT_EQ(back.max_length, 48);
  EXPECT_EQ(config_to_hugging_face(config_from_hugging_face(back.config, "config.json")),
            config_to_hugging_face(config));
}

}  // namespace
}  // namespace bertrain
