// Sums over targets, gathered by the record that owns them.
#include "task/pretraining_rows.h"

#include <vector>

#include "metrics/scores.h"
#include "task/ordered_rows.h"

namespace bertrain {
namespace {

class PretrainingRows final : public OrderedRows {
 public:
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
    auto label = batch.arrays.at("next_sentence_labels").as<int32_t>();
    auto loss = predictions.at("next_sentence_loss").as<float>();
    auto prediction = predictions.at("next_sentence_prediction").as<int32_t>();
    auto one = [](double value) { return std::vector<float>{static_cast<float>(value)}; };
    for (size_t e = 0; e < batch.row.size(); ++e) {
      finish(batch.row[e], {{"masked_lm_weight", one(lm[e].weight)},
                            {"masked_lm_loss", one(lm[e].loss)},
                            {"masked_lm_correct", one(lm[e].correct)},
                            {"next_sentence_loss", std::vector<float>{loss[e]}},
                            {"next_sentence_correct", one(prediction[e] == label[e] ? 1 : 0)}});
    }
  }
};

class PretrainingScorer final : public Scorer {
 public:
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
    next_loss_.add(value("next_sentence_loss"));
    next_correct_.add(value("next_sentence_correct"));
  }

  Json result() const override {
    return {{"masked_lm_accuracy", lm_correct_.mean()},
            {"masked_lm_loss", lm_loss_.mean()},
            {"next_sentence_accuracy", next_correct_.mean()},
            {"next_sentence_loss", next_loss_.mean()},
            {"loss", lm_loss_.mean() + next_loss_.mean()},
            {"eval_count", static_cast<uint64_t>(next_loss_.weight())}};
  }

 private:
  WeightedMean lm_loss_, lm_correct_, next_loss_, next_correct_;
};

}  // namespace

std::unique_ptr<Rows> make_pretraining_rows() { return std::make_unique<PretrainingRows>(); }

std::unique_ptr<Scorer> make_pretraining_scorer() { return std::make_unique<PretrainingScorer>(); }

}  // namespace bertrain
