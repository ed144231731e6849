// Lines to examples whose targets are the masks; logits to the likeliest pieces.
#include "task/inference/fill_mask.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "formats/tfrecord.h"
#include "model/bert.h"
#include "model/heads.h"
#include "storage/storage.h"
#include "task/encoder_inputs.h"
#include "task/inference/text_lines.h"
#include "task/ordered_rows.h"

namespace bertrain {
namespace {

class MaskRows final : public OrderedRows {
 public:
  MaskRows(std::shared_ptr<const Tokenizer> tokenizer, int64_t top_k)
      : tokenizer_(std::move(tokenizer)), top_k_(static_cast<size_t>(top_k)) {}

  void add(const Batch& batch, const Named<Array>& predictions) override {
    std::vector<Example> rows(batch.row.size());
    for (size_t e = 0; e < rows.size(); ++e) {
      rows[e] = {{"text", strings(batch.notes.at(e), "text")},
                 {"token", std::vector<std::string>{}},
                 {"token_id", std::vector<int64_t>{}},
                 {"probability", std::vector<float>{}},
                 {"logit", std::vector<float>{}},
                 {"kept", std::vector<int64_t>{static_cast<int64_t>(kept())}}};
    }
    if (batch.capacity.targets > 0) {
      auto owner = batch.arrays.at("example").as<int32_t>();
      auto slot = batch.arrays.at("target_slot").as<int32_t>();
      auto weight = batch.arrays.at("mask_weights").as<float>();
      const Array& logits = predictions.at("masked_lm_logits");
      auto width = static_cast<size_t>(logits.type.shape.at(1));
      for (size_t m = 0; m < weight.size(); ++m) {
        if (weight[m] == 0) continue;  // filling
        auto e = static_cast<size_t>(owner[static_cast<size_t>(slot[m])]);
        fill(logits.as<float>().subspan(m * width, width), rows[e]);
      }
    }
    for (size_t e = 0; e < rows.size(); ++e) finish(batch.row[e], std::move(rows[e]));
  }

 private:
  size_t kept() const { return std::min(top_k_, tokenizer_->vocabulary().size()); }

  // Rows of the table beyond the vocabulary's lines have no name, and are never chosen.
  void fill(std::span<const float> logits, Example& row) const {
    const Vocabulary& vocabulary = tokenizer_->vocabulary();
    double most = *std::max_element(logits.begin(), logits.end()), sum = 0;
    for (float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
    std::vector<int32_t> ids(vocabulary.size());  // which fits the table
    std::iota(ids.begin(), ids.end(), 0);
    std::partial_sort(ids.begin(), ids.begin() + static_cast<int64_t>(kept()), ids.end(),
                      [&](int32_t a, int32_t b) {
                        float x = logits[static_cast<size_t>(a)],
                              y = logits[static_cast<size_t>(b)];
                        return x != y ? x > y : a < b;
                      });
    for (size_t i = 0; i < kept(); ++i) {
      double logit = logits[static_cast<size_t>(ids[i])];
      std::get<std::vector<std::string>>(row["token"]).push_back(vocabulary.token(ids[i]));
      std::get<std::vector<int64_t>>(row["token_id"]).push_back(ids[i]);
      std::get<std::vector<float>>(row["probability"])
          .push_back(static_cast<float>(std::exp(logit - most) / sum));
      std::get<std::vector<float>>(row["logit"]).push_back(static_cast<float>(logit));
    }
  }

  std::shared_ptr<const Tokenizer> tokenizer_;
  size_t top_k_;
};

class FillMask final : public Task {
 public:
  FillMask(FillMaskOptions options, const BertConfig& config, const Tokenizer& tokenizer)
      : options_(std::move(options)), config_(config) {
    TokenizerOptions text = tokenizer.options();
    text.special_tokens_in_text = true;
    tokenizer_ = std::make_shared<const Tokenizer>(tokenizer.with(text));
    const SpecialTokens& special = tokenizer_->special();
    tokenizer_->vocabulary().require({special.mask, special.classify, special.separate});
    if (options_.max_seq_length == 0) options_.max_seq_length = config_.positions();
    if (options_.max_seq_length > config_.positions()) {
      throw usage_error("--max_seq_length={} is beyond the model's {} positions",
                        options_.max_seq_length, config_.positions());
    }
    require_text_lines(options_.input_file);
  }

  std::vector<std::string> splits() const override { return {"test"}; }
  Schema schema() const override { return {{"mask_weights", {DType::f32, Axis::target, {}}}}; }
  std::vector<LossTerm> terms() const override { return {}; }
  ExampleStream examples(std::string_view) const override {
    auto without = std::make_shared<uint64_t>(0), cut_off = std::make_shared<uint64_t>(0);
    const std::string name(tokenizer_->special().mask);
    int32_t mask = tokenizer_->vocabulary().id(tokenizer_->special().mask);
    const auto finish = [without, cut_off, name, mask](const PairInput& input,
                                                       std::string_view place, Example& example) {
      std::vector<int64_t> positions;
      for (size_t i = 0; i < input.ids.size(); ++i) {
        if (input.ids[i] == mask) positions.push_back(static_cast<int64_t>(i));
      }
      if (std::ssize(positions) > kMostMasks) {
        throw error("{}: {} masks in one text; at most {} are filled", place, positions.size(),
                    kMostMasks);
      }
      *without += positions.empty();
      *cut_off += positions.empty() && input.cut > 0 &&
                  strings(example, "text").at(0).find(name) != std::string::npos;
      example["mask_weights"] = std::vector<float>(positions.size(), 1.0F);
      example["target_positions"] = std::move(positions);
    };
    const auto at_end = [without, cut_off, name, file = options_.input_file,
                         length = options_.max_seq_length](int64_t lines) {
      if (*without > *cut_off) {
        log_warning("{}: {} of {} texts have no {} to fill", file, *without - *cut_off, lines,
                    name);
      }
      if (*cut_off > 0) {
        log_warning(
            "{}: {} of {} texts have {} only where they are cut off, beyond the model's {} pieces, "
            "so that nothing is filled; shorter texts are needed",
            file, *cut_off, lines, name, length);
      }
    };
    return read_text_lines(
        {options_.input_file, options_.invalid_utf8, options_.max_seq_length, config_.positions()},
        tokenizer_, told_, finish, at_end);
  }
  std::optional<uint64_t> count(std::string_view) const override { return std::nullopt; }
  int64_t max_seq_length() const override { return options_.max_seq_length; }
  int64_t max_targets() const override { return std::min(kMostMasks, options_.max_seq_length); }
  Outputs build(const Scope& scope, const Inputs& batch) const override {
    Tensor hidden = bert(scope, config_, encoder_slots(batch));  // [R, S, H]
    return {{},
            {{"masked_lm_logits",
              masked_lm_logits(scope, config_, hidden, batch.at("target_slot"))}}};  // [M, V]
  }
  std::unique_ptr<Rows> rows() const override {
    return std::make_unique<MaskRows>(tokenizer_, options_.top_k);
  }
  std::unique_ptr<Scorer> scorer() const override {
    check(false, "what fills a mask has no known answer");
    return nullptr;
  }
  Json describe() const override { return {{"task", "fill_mask"}}; }

 private:
  FillMaskOptions options_;
  BertConfig config_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<ToldOnce> told_ = std::make_shared<ToldOnce>();
};

}  // namespace

std::unique_ptr<Task> make_fill_mask(const FillMaskOptions& options, const BertConfig& config,
                                     const Tokenizer& tokenizer) {
  return std::make_unique<FillMask>(options, config, tokenizer);
}

}  // namespace bertrain
