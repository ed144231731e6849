// Sums over targets, gathered by the record that owns them.
#include "task/pretraining_rows.h"

#include <vector>

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
    weight_ += value("masked_lm_weight");
    lm_loss_ += value("masked_lm_loss");
    lm_correct_ += value("masked_lm_correct");
    next_loss_ += value("next_sentence_loss");
    next_correct_ += value("next_sentence_correct");
    ++count_;
  }

  Json result() const override {
    // Without rows or targets the means are 0: JSON has no NaN.
    double n = count_ > 0 ? static_cast<double>(count_) : 1, w = weight_ > 0 ? weight_ : 1;
    return {{"masked_lm_accuracy", lm_correct_ / w},       {"masked_lm_loss", lm_loss_ / w},
            {"next_sentence_accuracy", next_correct_ / n}, {"next_sentence_loss", next_loss_ / n},
            {"loss", lm_loss_ / w + next_loss_ / n},       {"eval_count", count_}};
  }

 private:
  double weight_ = 0, lm_loss_ = 0, lm_correct_ = 0, next_loss_ = 0, next_correct_ = 0;
  uint64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Rows> make_pretraining_rows() { return std::make_unique<PretrainingRows>(); }

std::unique_ptr<Scorer> make_pretraining_scorer() { return std::make_unique<PretrainingScorer>(); }

}  // namespace bertrain
