// Sums over targets, gathered by the record that owns them.
#include "task/pretraining_rows.h"

#include <utility>
#include <vector>

#include "metrics/scores.h"
#include "task/ordered_rows.h"

namespace bertrain {
namespace {

class PretrainingRows final : public OrderedRows {
 public:
  explicit PretrainingRows(bool next_sentence) : next_sentence_(next_sentence) {}

  void add(const Batch& batch, const Named<Array>& predictions) override {
    struct Sums {
      double weight = 0, loss = 0, correct = 0;
    };
    std::vector<Sums> lm(batch.row.size());
    if (batch.capacity.targets > 0) {
      auto owner = batch.arrays.at("example").as<int32_t>();
      auto slot = batch.arrays.at("target_slot").as<int32_t>();
      auto weight = batch.arrays.at("masked_lm_weights").as<float>();
      auto id = batch.arrays.at("masked_lm_ids").as<int32_t>();
      auto loss = predictions.at("masked_lm_loss").as<float>();
      auto prediction = predictions.at("masked_lm_prediction").as<int32_t>();
      for (size_t m = 0; m < weight.size(); ++m) {
        if (weight[m] == 0) continue;  // filling
        Sums& sums = lm[static_cast<size_t>(owner[static_cast<size_t>(slot[m])])];
        auto w = static_cast<double>(weight[m]);
        sums.weight += w;
        sums.loss += w * static_cast<double>(loss[m]);
        if (prediction[m] == id[m]) sums.correct += w;
      }
    }
    auto one = [](double value) { return std::vector<float>{static_cast<float>(value)}; };
    std::vector<Example> rows;
    for (const Sums& sums : lm) {
      rows.push_back({{"masked_lm_weight", one(sums.weight)},
                      {"masked_lm_loss", one(sums.loss)},
                      {"masked_lm_correct", one(sums.correct)}});
    }
    if (next_sentence_) {
      auto label = batch.arrays.at("next_sentence_labels").as<int32_t>();
      auto loss = predictions.at("next_sentence_loss").as<float>();
      auto prediction = predictions.at("next_sentence_prediction").as<int32_t>();
      for (size_t e = 0; e < rows.size(); ++e) {
        rows[e]["next_sentence_loss"] = std::vector<float>{loss[e]};
        rows[e]["next_sentence_correct"] = one(prediction[e] == label[e] ? 1 : 0);
      }
    }
    for (size_t e = 0; e < rows.size(); ++e) finish(batch.row[e], std::move(rows[e]));
  }

 private:
  bool next_sentence_;
};

class PretrainingScorer final : public Scorer {
 public:
  explicit PretrainingScorer(bool next_sentence) : next_sentence_(next_sentence) {}

  void add(const Example& row) override {
    auto value = [&](std::string_view name) {
      return static_cast<double>(floats(row, name).at(0));
    };
    // The row has sums over its targets; their mean counts as often as their weight says.
    double weight = value("masked_lm_weight");
    if (weight > 0) {
      lm_loss_.add(value("masked_lm_loss") / weight, weight);
      lm_correct_.add(value("masked_lm_correct") / weight, weight);
    }
    ++rows_;
    if (!next_sentence_) return;
    next_loss_.add(value("next_sentence_loss"));
    next_correct_.add(value("next_sentence_correct"));
  }

  Json result() const override {
    Json scores = {{"masked_lm_accuracy", lm_correct_.mean()}, {"masked_lm_loss", lm_loss_.mean()}};
    double loss = lm_loss_.mean();
    if (next_sentence_) {
      scores["next_sentence_accuracy"] = next_correct_.mean();
      scores["next_sentence_loss"] = next_loss_.mean();
      loss += next_loss_.mean();
    }
    scores["loss"] = loss;
    scores["eval_count"] = rows_;
    return scores;
  }

 private:
  WeightedMean lm_loss_, lm_correct_, next_loss_, next_correct_;
  uint64_t rows_ = 0;
  bool next_sentence_;
};

}  // namespace

std::unique_ptr<Rows> make_pretraining_rows(bool next_sentence) {
  return std::make_unique<PretrainingRows>(next_sentence);
}

std::unique_ptr<Scorer> make_pretraining_scorer(bool next_sentence) {
  return std::make_unique<PretrainingScorer>(next_sentence);
}

}  // namespace bertrain
