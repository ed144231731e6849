// Hidden vectors at all tokens, and their pooling on the host.
#include "task/inference/embedding.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "model/bert.h"
#include "model/heads.h"
#include "storage/storage.h"
#include "task/encoder_inputs.h"
#include "task/inference/text_lines.h"
#include "task/ordered_rows.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

std::string layer_name(size_t number) { return fmt::format("layer_{}", number); }

// Sums, or largest values, of a text's vectors as they come.
struct Pooled {
  std::vector<double> values;
  int64_t count = 0;

  void add(std::span<const float> vector, bool takes_max) {
    if (count++ == 0) {
      values.assign(vector.begin(), vector.end());
      return;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      auto x = static_cast<double>(vector[i]);
      values[i] = takes_max ? std::max(values[i], x) : values[i] + x;
    }
  }
};

class EmbeddingRows final : public OrderedRows {
 public:
  EmbeddingRows(std::shared_ptr<const Tokenizer> tokenizer, Pooling pooling, size_t layers)
      : tokenizer_(std::move(tokenizer)), pooling_(pooling), layers_(layers) {}

  void add(const Batch& batch, const Named<Array>& predictions) override {
    auto owner = batch.arrays.at("example").as<int32_t>();
    auto slot = batch.arrays.at("target_slot").as<int32_t>();
    auto weight = batch.arrays.at("token_weights").as<float>();
    auto ids = batch.arrays.at("input_ids").as<int32_t>();
    std::vector<Example> rows(batch.row.size());
    for (size_t e = 0; e < rows.size(); ++e) {
      rows[e] = {{"text", strings(batch.notes.at(e), "text")}};
      std::vector<std::string>& tokens =
          std::get<std::vector<std::string>>(rows[e]["token"] = std::vector<std::string>{});
      for (size_t s = 0; s < owner.size(); ++s) {
        if (owner[s] == static_cast<int32_t>(e)) {
          tokens.push_back(tokenizer_->vocabulary().token(ids[s]));
        }
      }
    }
    for (size_t l = 0; l < layers_; ++l) {
      const Array& hidden = predictions.at(layer_name(l));
      auto width = static_cast<size_t>(hidden.type.shape.at(1));
      std::vector<std::vector<float>> vectors(rows.size());
      std::vector<Pooled> pooled(rows.size());
      for (size_t m = 0; m < weight.size(); ++m) {
        if (weight[m] == 0) continue;  // filling
        auto e = static_cast<size_t>(owner[static_cast<size_t>(slot[m])]);
        std::span<const float> vector = hidden.as<float>().subspan(m * width, width);
        bool is_kept = pooling_ == Pooling::none || pooling_ == Pooling::cls;
        if (is_kept) vectors[e].insert(vectors[e].end(), vector.begin(), vector.end());
        if (!is_kept) pooled[e].add(vector, pooling_ == Pooling::max);
      }
      for (size_t e = 0; e < rows.size(); ++e) {
        double divisor = pooling_ == Pooling::mean ? static_cast<double>(pooled[e].count) : 1;
        for (double value : pooled[e].values) {
          vectors[e].push_back(static_cast<float>(value / divisor));
        }
        rows[e][layer_name(l)] = std::move(vectors[e]);
      }
    }
    for (size_t e = 0; e < rows.size(); ++e) finish(batch.row[e], std::move(rows[e]));
  }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  Pooling pooling_;
  size_t layers_;
};

class Embedding final : public Task {
 public:
  Embedding(EmbeddingOptions options, const BertConfig& config,
            std::shared_ptr<const Tokenizer> tokenizer)
      : options_(std::move(options)), config_(config), tokenizer_(std::move(tokenizer)) {
    if (options_.max_seq_length == 0) {
      options_.max_seq_length = std::min<int64_t>(128, config_.positions());
    }
    if (options_.max_seq_length > config_.positions()) {
      throw usage_error("--max_seq_length={} is beyond the model's {} positions",
                        options_.max_seq_length, config_.positions());
    }
    int64_t all = config_.num_hidden_layers;
    for (int64_t layer : options_.layers) {
      if (layer < -all || layer >= all) {
        throw usage_error("--layers: {} is not among the model's {} layers, 0 … {} or -1 … -{}",
                          layer, all, all - 1, all);
      }
      numbers_.push_back(layer < 0 ? layer + all : layer);
    }
    require_text_lines(options_.input_file);
  }

  std::vector<std::string> splits() const override { return {"test"}; }
  Schema schema() const override { return {{"token_weights", {DType::f32, Axis::target, {}}}}; }
  std::vector<LossTerm> terms() const override { return {}; }
  ExampleStream examples(std::string_view) const override {
    bool first = options_.pooling == Pooling::cls;
    return read_text_lines(
        {options_.input_file, options_.invalid_utf8, options_.max_seq_length, config_.positions()},
        tokenizer_, told_, [first](const PairInput& input, std::string_view, Example& example) {
          std::vector<int64_t> positions(first ? 1 : input.ids.size());
          std::iota(positions.begin(), positions.end(), 0);
          example["token_weights"] = std::vector<float>(positions.size(), 1.0F);
          example["target_positions"] = std::move(positions);
        });
  }
  std::optional<uint64_t> count(std::string_view) const override { return std::nullopt; }
  int64_t max_seq_length() const override { return options_.max_seq_length; }
  int64_t max_targets() const override {
    return options_.pooling == Pooling::cls ? 1 : options_.max_seq_length;
  }
  Outputs build(const Scope& scope, const Inputs& batch) const override {
    bert(scope, config_, encoder_slots(batch));
    Outputs outputs;
    for (size_t l = 0; l < numbers_.size(); ++l) {
      Tensor hidden = scope.recording().marked(layer_output_name(numbers_[l]));  // [R, S, H]
      Tensor rows = take_slots(hidden, batch.at("target_slot"));                 // [M, H]
      outputs.predictions[layer_name(l)] =
          rows.dtype() == DType::f32 ? rows : convert(rows, DType::f32);
    }
    return outputs;
  }
  std::unique_ptr<Rows> rows() const override {
    return std::make_unique<EmbeddingRows>(tokenizer_, options_.pooling, numbers_.size());
  }
  std::unique_ptr<Scorer> scorer() const override {
    check(false, "vectors have no known answer");
    return nullptr;
  }
  Json describe() const override { return {{"task", "embedding"}}; }

 private:
  EmbeddingOptions options_;
  BertConfig config_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<int64_t> numbers_;  // of the layers, from 0
  std::shared_ptr<ToldOnce> told_ = std::make_shared<ToldOnce>();
};

}  // namespace

std::unique_ptr<Task> make_embedding(const EmbeddingOptions& options, const BertConfig& config,
                                     std::shared_ptr<const Tokenizer> tokenizer) {
  return std::make_unique<Embedding>(options, config, std::move(tokenizer));
}

}  // namespace bertrain
