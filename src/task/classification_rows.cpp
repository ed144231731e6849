// Probabilities to named answers, and answers to accuracy, F1 and confusion.
#include "task/classification_rows.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "task/ordered_rows.h"

namespace bertrain {
namespace {

class ClassificationRows final : public OrderedRows {
 public:
  explicit ClassificationRows(std::shared_ptr<const Labels> labels) : labels_(std::move(labels)) {}

  void add(const Batch& batch, const Named<Array>& predictions) override {
    check(batch.notes.size() == batch.row.size(), "rows need the notes of their batch");
    auto probabilities = predictions.at("probabilities").as<float>();  // [E, C]
    auto loss = predictions.at("loss").as<float>();                    // [E]
    size_t classes = labels_->size();
    for (size_t e = 0; e < batch.row.size(); ++e) {
      auto mine = probabilities.subspan(e * classes, classes);
      auto best = static_cast<size_t>(std::max_element(mine.begin(), mine.end()) - mine.begin());
      Example row = batch.notes[e];
      if (row.contains("gold")) row["loss"] = std::vector<float>{loss[e]};
      row["label"] = std::vector<std::string>{labels_->name(best)};
      row["probability"] = std::vector<float>{mine[best]};
      row["probabilities"] = std::vector<float>(mine.begin(), mine.end());
      finish(batch.row[e], std::move(row));
    }
  }

 private:
  std::shared_ptr<const Labels> labels_;
};

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

class ClassificationScorer final : public Scorer {
 public:
  explicit ClassificationScorer(std::shared_ptr<const Labels> labels)
      : labels_(std::move(labels)), confusion_(labels_->size() * labels_->size()) {}

  void add(const Example& row) override {
    if (!row.contains("gold")) {
      throw error("row {} has no label, so it cannot be scored", count_);
    }
    int64_t gold = labels_->find(strings(row, "gold").at(0));
    int64_t predicted = labels_->find(strings(row, "label").at(0));
    check(gold >= 0 && predicted >= 0, "a scored row has labels of the model");
    ++confusion_[static_cast<size_t>(gold) * labels_->size() + static_cast<size_t>(predicted)];
    loss_ += static_cast<double>(floats(row, "loss").at(0));
    ++count_;
  }

  Json result() const override {
    size_t classes = labels_->size();
    Json each = Json::object(), matrix = Json::array();
    uint64_t correct = 0;
    double f1_sum = 0;
    size_t present = 0;
    for (size_t c = 0; c < classes; ++c) {
      uint64_t hits = at(c, c), gold = 0, predicted = 0;
      Json line = Json::array();
      for (size_t other = 0; other < classes; ++other) {
        gold += at(c, other);
        predicted += at(other, c);
        line.push_back(at(c, other));
      }
      // A class that is never predicted, or never there, scores 0 and not 0 / 0.
      double precision = ratio(static_cast<double>(hits), static_cast<double>(predicted));
      double recall = ratio(static_cast<double>(hits), static_cast<double>(gold));
      double f1 = ratio(2 * precision * recall, precision + recall);
      each[labels_->name(c)] = {
          {"precision", precision}, {"recall", recall}, {"f1", f1}, {"support", gold}};
      matrix.push_back(line);
      correct += hits;
      if (gold + predicted > 0) {
        f1_sum += f1;
        ++present;
      }
    }
    double n = static_cast<double>(count_);
    return {{"eval_accuracy", ratio(static_cast<double>(correct), n)},
            {"eval_loss", ratio(loss_, n)},
            {"eval_macro_f1", ratio(f1_sum, static_cast<double>(present))},
            {"eval_count", count_},
            {"classes", each},
            {"confusion", {{"labels", labels_->names()}, {"matrix", matrix}}}};
  }

 private:
  uint64_t at(size_t gold, size_t predicted) const {
    return confusion_[gold * labels_->size() + predicted];
  }

  std::shared_ptr<const Labels> labels_;
  std::vector<uint64_t> confusion_;  // [C, C]: label, predicted
  double loss_ = 0;
  uint64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Rows> make_classification_rows(std::shared_ptr<const Labels> labels) {
  return std::make_unique<ClassificationRows>(std::move(labels));
}

std::unique_ptr<Scorer> make_classification_scorer(std::shared_ptr<const Labels> labels) {
  return std::make_unique<ClassificationScorer>(std::move(labels));
}

}  // namespace bertrain
