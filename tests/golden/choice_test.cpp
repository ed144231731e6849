// The loss of choices and its gradient on every backend, against pairs that are examples of their own:
// what attends to what, positions, pooled slots and the softmax over a row's choices.
#include "task/choice/choice.h"

#include <gtest/gtest.h>

#include <cmath>

#include "storage/storage.h"
#include "task/tiny_config.h"
#include "tensor/ops/ops.h"
#include "tiny_bert.h"

namespace bertrain {
namespace {

using Doubles = std::vector<double>;

constexpr uint64_t kSeed = 3;
constexpr double kBound = 2e-5;

struct Row {
  std::string context, question;
  std::vector<std::string> choices;
  size_t label;
};
// Three choices in the file to train on, two in the other.
const std::vector<Row> kThree = {{"a b c d", "who", {"a a", "b ?", "c d a b"}, 2},
                                 {"d", "b", {"c", "d d ?", "a"}, 0}};
const std::vector<Row> kTwo = {{"b a", "who ?", {"c c c", "a"}, 1}, {"c", "a", {"d", "b a"}, 0}};

std::string choices_file(const std::vector<Row>& rows) {
  std::string text = "sent1\tsent2\tlabel";
  for (size_t c = 0; c < rows[0].choices.size(); ++c) text += "\tending" + std::to_string(c);
  for (const Row& row : rows) {
    text += "\n" + row.context + "\t" + row.question + "\t" + std::to_string(row.label);
    for (const std::string& choice : row.choices) text += "\t" + choice;
  }
  std::string uri = "mem://choice/" + std::to_string(rows[0].choices.size()) + ".tsv";
  write_text(uri, text + "\n");
  return uri;
}

// Each context with one choice as a row of numbers, on the same parameters.
std::string pairs_file(const std::vector<Row>& rows) {
  std::string text = "text\tother\tlabel\n";
  for (const Row& row : rows) {
    for (const std::string& choice : row.choices) {
      text += row.context + "\t" + row.question + " " + choice + "\t0\n";
    }
  }
  write_text("mem://choice/pairs.tsv", text);
  return "mem://choice/pairs.tsv";
}

class Choices : public testing::TestWithParam<NamedBackend> {
 protected:
  void SetUp() override {
    backend_ = GetParam().make();
    if (!backend_) GTEST_SKIP() << kNoPlugin;
    config_ = tiny_config(11, 32);
    config_.initializer_range = 0.5;  // so that choices differ
    config_.hidden_dropout_prob = config_.attention_probs_dropout_prob = 0;
    std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a",
                                       "b",     "c",     "d",     "who",   "?"};
    tokenizer_ = std::make_shared<Tokenizer>(Vocabulary(pieces));
  }

  std::unique_ptr<Task> choices() const {
    ChoiceOptions options;
    options.table.train_file = choices_file(kThree);
    options.table.dev_file = choices_file(kTwo);
    options.table.classifier_dropout = 0;
    return make_choice(options, config_, tokenizer_, nullptr);
  }
  std::unique_ptr<Task> pairs(const std::vector<Row>& rows) const {
    ClassificationOptions options;
    options.train_file = pairs_file(rows);
    options.text_b_column = "other";
    options.dev_fraction = options.classifier_dropout = 0;
    return make_classification("regression", options, config_, tokenizer_, nullptr);
  }

  // Predictions, and the gradient of a sum by every parameter.
  Named<Array> compute(const Task& task, std::string_view split, int64_t rows,
                       const std::vector<float>* weights) {
    std::vector<Example> examples = rest_of(*task.examples(split));
    Batch batch = pack_one(task, examples, {.rows = rows, .filling = rows == 1 ? 3 : 16});
    Recording recording({.training = true});
    Graph& graph = recording.graph();
    Named<Array> in = batch.arrays;
    int64_t count = batch.capacity.examples;
    std::vector<float> each(static_cast<size_t>(count), 0.0F);
    for (size_t e = 0; e < batch.row.size(); ++e) {
      each[e] = weights ? weights->at(static_cast<size_t>(batch.row[e])) : 1;
    }
    Inputs inputs;
    for (const auto& [name, value] : in) inputs[name] = graph.input(name, value.type);
    in["each"] = make_array<float>({count}, each);
    Tensor by = graph.input("each", in["each"].type);
    Outputs outputs = task.build(recording.scope(), inputs);
    Tensor summed = weights ? outputs.predictions.at("value") : outputs.losses.begin()->second;
    for (const auto& [name, value] : outputs.predictions) graph.output("of/" + name, value);
    std::vector<Tensor> masters;
    for (const Parameter& p : recording.parameters()) masters.push_back(p.master);
    Tensors gradient = gradients(reduce_sum(summed * by, {0}), masters);
    for (size_t i = 0; i < masters.size(); ++i) {
      const Parameter& parameter = recording.parameters()[i];
      graph.output("d/" + parameter.name, gradient[i]);
      in[parameter.name] = initial_value(parameter, kSeed);
    }
    auto program = backend_->compile(graph);
    DeviceArrays arrays;
    for (const auto& [name, value] : in) arrays[name] = backend_->put(value, Placement::replicate);
    Named<Array> out;
    for (const auto& [name, value] : program->run(arrays)) out[name] = backend_->get(*value);
    row_ = batch.row;
    return out;
  }

  void compare(const std::vector<Row>& rows, std::string_view split, int64_t packed_rows) {
    auto pair_task = pairs(rows);
    std::vector<float> ones(rows.size() * rows[0].choices.size(), 1.0F);
    Named<Array> alone = compute(*pair_task, "train", 1, &ones);
    std::vector<float> logits(ones.size());
    for (size_t e = 0; e < row_.size(); ++e) {
      logits[static_cast<size_t>(row_[e])] = alone.at("of/value").as<float>()[e];
    }
    Named<Array> found = compute(*choices(), split, packed_rows, nullptr);
    size_t width = rows[0].choices.size(), places = kThree[0].choices.size();
    std::vector<float> weights;  // d loss / d logit
    Doubles losses, probabilities;
    for (size_t r = 0; r < rows.size(); ++r) {
      double sum = 0;
      auto logit = [&](size_t c) { return static_cast<double>(logits[r * width + c]); };
      for (size_t c = 0; c < width; ++c) sum += std::exp(logit(c));
      losses.push_back(std::log(sum) - logit(rows[r].label));
      for (size_t c = 0; c < places; ++c) {
        probabilities.push_back(c < width ? std::exp(logit(c)) / sum : 0);
        if (c < width) {
          weights.push_back(
              static_cast<float>(probabilities.back() - (c == rows[r].label ? 1 : 0)));
        }
      }
    }
    ASSERT_EQ(row_.size(), rows.size());
    for (size_t e = 0; e < row_.size(); ++e) {
      auto row = static_cast<size_t>(row_[e]);
      EXPECT_NEAR(found.at("of/loss").as<float>()[e], losses[row], kBound);
      for (size_t c = 0; c < places; ++c) {
        EXPECT_NEAR(found.at("of/probabilities").as<float>()[e * places + c],
                    probabilities[row * places + c], kBound);
      }
    }
    Named<Array> wanted = compute(*pair_task, "train", 1, &weights);
    size_t compared = 0;
    for (const auto& [name, value] : wanted) {
      // The bias moves all logits of a row alike: its gradient is 0.
      if (!name.starts_with("d/") || name == "d/output_bias" || is_key_bias(name.substr(2))) {
        continue;
      }
      EXPECT_LT(relative_difference(found.at(name), value), 1e-4) << name;
      ++compared;
    }
    EXPECT_GT(compared, 15u);
    EXPECT_NEAR(found.at("d/output_bias").as<float>()[0], 0, kBound);
  }

  std::unique_ptr<Backend> backend_;
  BertConfig config_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<int64_t> row_;  // of the examples last computed
};

TEST_P(Choices, AreAsPairsAlone) { compare(kThree, "train", 1); }
TEST_P(Choices, FewerThanThereArePlacesFor) { compare(kTwo, "dev", 1); }
TEST_P(Choices, InRowsOfTheirOwn) { compare(kThree, "train", 2); }

INSTANTIATE_TEST_SUITE_P(Backends, Choices, testing::ValuesIn(golden_and_plugin_backends()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bertrain
