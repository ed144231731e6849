// Probabilities to named answers, and answers to accuracy, F1 and confusion.
#include "task/classification_rows.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "metrics/scores.h"
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

class ClassificationScorer final : public Scorer {
 public:
  explicit ClassificationScorer(std::shared_ptr<const Labels> labels)
      : labels_(std::move(labels)), confusion_(labels_->size()) {}

  void add(const Example& row) override {
    if (!row.contains("gold")) {
      throw error("row {} (counted from 0) has no label, so it cannot be scored",
                  confusion_.total());
    }
    int64_t gold = labels_->find(strings(row, "gold").at(0));
    int64_t predicted = labels_->find(strings(row, "label").at(0));
    check(gold >= 0 && predicted >= 0, "a scored row has labels of the model");
    confusion_.add(static_cast<size_t>(gold), static_cast<size_t>(predicted));
    loss_.add(static_cast<double>(floats(row, "loss").at(0)));
  }

  Json result() const override {
    return {{"eval_accuracy", confusion_.accuracy()},
            {"eval_loss", loss_.mean()},
            {"eval_macro_f1", confusion_.macro_f1()},
            {"eval_matthews", confusion_.matthews()},
            {"eval_count", confusion_.total()}};
  }

  Json details() const override {
    Json classes = Json::object(), confused = Json::array();
    // Labels are distinct, so nothing need be searched, which takes the square of their number.
    auto& entries = classes.get_ref<Json::object_t&>();
    for (size_t c = 0; c < labels_->size(); ++c) {
      Hits hits = confusion_.hits(c);
      entries.push_back({labels_->name(c),
                         {{"precision", hits.precision()},
                          {"recall", hits.recall()},
                          {"f1", hits.f1()},
                          {"support", hits.support()}}});
    }
    for (const Confusion::Mistaken& pair : confusion_.most_mistaken(kMostPairs)) {
      confused.push_back({{"labels", {labels_->name(pair.a), labels_->name(pair.b)}},
                          {"first_as_second", pair.a_as_b},
                          {"second_as_first", pair.b_as_a}});
    }
    Json all = {{"classes", std::move(classes)}, {"confused", std::move(confused)}};
    if (labels_->size() <= kMostInMatrix) all["confusion"] = matrix();
    return all;
  }

 private:
  static constexpr size_t kMostInMatrix = 100;  // classes; a larger matrix nobody reads
  static constexpr size_t kMostPairs = 50;

  Json matrix() const {
    Json lines = Json::array();
    for (size_t c = 0; c < labels_->size(); ++c) {
      Json line = Json::array();
      for (size_t p = 0; p < labels_->size(); ++p) line.push_back(confusion_.count(c, p));
      lines.push_back(std::move(line));
    }
    return {{"labels", labels_->names()}, {"matrix", std::move(lines)}};
  }

  std::shared_ptr<const Labels> labels_;
  Confusion confusion_;
  WeightedMean loss_;
};

}  // namespace

std::unique_ptr<Rows> make_classification_rows(std::shared_ptr<const Labels> labels) {
  return std::make_unique<ClassificationRows>(std::move(labels));
}

std::unique_ptr<Scorer> make_classification_scorer(std::shared_ptr<const Labels> labels) {
  return std::make_unique<ClassificationScorer>(std::move(labels));
}

}  // namespace bertrain
