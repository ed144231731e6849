// One class of several: cross-entropy of the softmax; rows, accuracy, F1 and confusion.
#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "metrics/one_sided.h"
#include "metrics/scores.h"
#include "task/ordered_rows.h"
#include "task/table/label_list.h"
#include "task/table/target.h"
#include "tensor/ops/ops.h"

namespace bertrain {
namespace {

class SingleLabelRows final : public OrderedRows {
 public:
  explicit SingleLabelRows(std::shared_ptr<const Labels> labels) : labels_(std::move(labels)) {}

  void add(const Batch& batch, const Named<Array>& predictions) override {
    check(batch.notes.size() == batch.row.size(), "rows need the notes of their batch");
    auto probabilities = predictions.at("probabilities").as<float>();  // [E, C]
    auto logits = predictions.at("logits").as<float>();                // [E, C]
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
      auto raw = logits.subspan(e * classes, classes);
      row["logits"] = std::vector<float>(raw.begin(), raw.end());
      finish(batch.row[e], std::move(row));
    }
  }

 private:
  std::shared_ptr<const Labels> labels_;
};

class SingleLabelScorer final : public Scorer {
 public:
  explicit SingleLabelScorer(std::shared_ptr<const Labels> labels)
      : labels_(std::move(labels)), confusion_(labels_->size()) {}

  void add(const Example& row) override {
    if (!row.contains("gold")) {
      throw error("row {} (counted from 0) has no label, so it cannot be scored",
                  confusion_.total());
    }
    int64_t gold = labels_->find(strings(row, "gold").at(0));
    int64_t predicted = labels_->find(strings(row, "label").at(0));
    check(gold >= 0 && predicted >= 0, "a scored row has labels of the model");
    predicted_.add(strings(row, "gold").at(0), strings(row, "label").at(0));
    confusion_.add(static_cast<size_t>(gold), static_cast<size_t>(predicted));
    loss_.add(static_cast<double>(floats(row, "loss").at(0)));
  }

  Json result() const override {
    Json scores = {{"eval_accuracy", confusion_.accuracy()},
                   {"eval_loss", loss_.mean()},
                   {"eval_macro_f1", confusion_.macro_f1()},
                   {"eval_matthews", confusion_.matthews()}};
    if (labels_->size() == 2) scores["eval_f1"] = confusion_.hits(1).f1();
    scores["eval_count"] = confusion_.total();
    return scores;
  }

  std::string doubt() const override { return predicted_.doubt("rows", "labelled"); }

  Json details() const override {
    std::vector<Hits> hits;
    for (size_t c = 0; c < labels_->size(); ++c) hits.push_back(confusion_.hits(c));
    Json confused = Json::array();
    for (const Confusion::Mistaken& pair : confusion_.most_mistaken(kMostPairs)) {
      confused.push_back({{"labels", {labels_->name(pair.a), labels_->name(pair.b)}},
                          {"first_as_second", pair.a_as_b},
                          {"second_as_first", pair.b_as_a}});
    }
    Json all = {{"classes", class_scores(*labels_, hits)}, {"confused", std::move(confused)}};
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
  OneSided predicted_;
  WeightedMean loss_;
};

constexpr const char *kWeight = "label_weight", *kBalanced = "balanced";

class SingleLabelCounts final : public TargetCounts {
 public:
  explicit SingleLabelCounts(std::shared_ptr<const Labels> labels) : labels_(std::move(labels)) {}

  void add(const Example& example, bool begins_row) override {
    std::string label = kind(example);
    if (begins_row) rows_.add(label);
    bool weighs = example.contains(kWeight);
    trained_.add(label, weighs ? static_cast<double>(floats(example, kWeight).at(0)) : 1);
  }
  std::string text() const override { return rows_.text("labels", "rows"); }
  double constant_loss() const override { return trained_.entropy(); }
  std::string kind(const Example& example) const override {
    return labels_->name(static_cast<size_t>(integers(example, "label").at(0)));
  }

 private:
  std::shared_ptr<const Labels> labels_;
  Frequencies rows_, trained_;
};

// logits [E, C], label i32 [E] → the logit of the label [E].
Tensor logit_of(Tensor logits, Tensor label) {
  Graph& graph = logits.graph();
  Tensor is_label = compare(iota(graph, logits.shape(), 1, DType::i32),
                            broadcast_last(label, logits.extent(1)), Compare::equal);
  return reduce_sum(select(is_label, logits, full(graph, logits.shape(), 0)), {1});
}

class SingleLabel final : public TextTarget {
 public:
  explicit SingleLabel(TargetOptions options)
      : options_(std::move(options)), labels_(given_labels(options_, kLeastLabels)) {
    double smoothing = options_.label_smoothing;
    if (!(smoothing >= 0 && smoothing < 1)) {
      throw usage_error("--label_smoothing={}: a share from 0 to below 1 expected", smoothing);
    }
    read_weights();
  }

  void learn(const std::vector<RowLabel>& labels, const LabelColumn& column) override {
    labels_ = std::make_shared<Labels>(learn_labels(texts_of(labels), kLeastLabels, column));
  }
  void take(const JsonValue& description) override {
    labels_ = std::make_shared<Labels>(described_labels(description, kLeastLabels));
    options_.labels.clear();  // the model's now
  }
  bool is_known() const override { return labels_ != nullptr; }

  void report(const std::vector<RowLabel>& labels, const LabelColumn& column) const override {
    std::map<std::string, uint64_t> counts = count_labels(texts_of(labels));
    auto most = std::max_element(counts.begin(), counts.end(),
                                 [](const auto& a, const auto& b) { return a.second < b.second; });
    log_line("{}: {} labels; the most frequent, {}, is {:.1f} % of the rows", column.file,
             labels_->size(), quote(most->first),
             100.0 * static_cast<double>(most->second) / static_cast<double>(labels.size()));
  }

  void weigh(const std::vector<RowLabel>& labels) override {
    if (options_.class_weights.empty()) return;
    if (options_.class_weights != kBalanced) return name_weights();
    // Rows divided by those that all classes would have if they were equally frequent.
    std::map<std::string, uint64_t> counts = count_labels(texts_of(labels));
    for (const std::string& name : labels_->names()) {
      auto count = counts.find(name);
      double rows = count == counts.end() ? 0 : static_cast<double>(count->second);
      double share = static_cast<double>(labels.size()) / static_cast<double>(labels_->size());
      weights_.push_back(rows > 0 ? static_cast<float>(share / rows) : 1.0F);
    }
  }

  std::string fault(const RowLabel& label) const override {
    if (label.list) return misfit(label);
    if (labels_->find(label.text) >= 0) return "";
    return unknown_label(label.text, *labels_, options_);
  }

  void put(Example& example, const RowLabel* label) const override {
    int64_t number = label && !label->list ? labels_->find(label->text) : -1;
    example["label"] = std::vector<int64_t>{std::max<int64_t>(number, 0)};
    if (!weights_.empty()) {
      example[kWeight] =
          std::vector<float>{number < 0 ? 0 : weights_.at(static_cast<size_t>(number))};
    }
    if (number >= 0) example["gold"] = std::vector<std::string>{label->text};
  }

  Schema schema() const override {
    Schema schema = {{"label", {DType::i32, Axis::example, {}}}};
    if (!weights_.empty()) schema[kWeight] = {DType::f32, Axis::example, {}};
    return schema;
  }
  LossTerm term() const override {
    return {"classification_loss", Axis::example, weights_.empty() ? "example_weight" : kWeight, 0};
  }

  int64_t outputs() const override { return static_cast<int64_t>(labels_->size()); }

  Outputs build(bool training, Tensor logits, const Inputs& batch) const override {
    Tensor label = batch.at("label");
    Tensor loss = softmax_cross_entropy(logits, label).loss, trained = loss;
    if (training && options_.label_smoothing > 0) {
      // The cross-entropy with every class alike, log Σ exp − mean, is that with the label and what
      // the label's logit is above the mean.
      Tensor mean = reduce_sum(logits, {1}) * (1.0 / static_cast<double>(outputs()));
      trained = loss + (logit_of(logits, label) - mean) * options_.label_smoothing;
    }
    return {{{"classification_loss", trained}},
            {{"logits", logits}, {"probabilities", softmax(logits)}, {"loss", loss}}};
  }

  float loss_of(const Example& notes, std::span<const float> predicted) const override {
    int64_t gold = labels_->find(strings(notes, "gold").at(0));
    check(gold >= 0, "a known label");
    return surprise_of(predicted[static_cast<size_t>(gold)]);
  }
  std::unique_ptr<TargetCounts> counts() const override {
    return std::make_unique<SingleLabelCounts>(labels_);
  }
  std::unique_ptr<Rows> rows() const override { return std::make_unique<SingleLabelRows>(labels_); }
  std::unique_ptr<Scorer> scorer() const override {
    return std::make_unique<SingleLabelScorer>(labels_);
  }
  void describe(Json& description) const override { description["labels"] = labels_->names(); }

 private:
  // "spam=2,ham=0.5", before any table is read: which classes there are is seen later.
  void read_weights() {
    if (options_.class_weights.empty() || options_.class_weights == kBalanced) return;
    for (const std::string& part : split_list(options_.class_weights, ",", "class_weights")) {
      size_t sign = part.rfind('=');
      double weight = -1;
      if (sign != std::string::npos) {
        const char *begin = part.data() + sign + 1, *end = part.data() + part.size();
        auto [at, failed] = std::from_chars(begin, end, weight);
        if (failed != std::errc() || at != end) weight = -1;
      }
      if (part == kBalanced) {
        throw usage_error(
            "--class_weights={}: balanced stands alone, as it gives every class its weight; name "
            "classes with their weights, or say balanced",
            options_.class_weights);
      }
      if (!(weight >= 0 && weight <= kMostWeight)) {
        throw usage_error(
            "--class_weights={}: {} is neither 'balanced' nor a class with its weight from 0 to "
            "{}, as good=2",
            options_.class_weights, quote(part), kMostWeight);
      }
      std::string name = part.substr(0, sign);
      if (!named_.emplace(name, static_cast<float>(weight)).second) {
        throw usage_error("--class_weights={}: class {} is named twice", options_.class_weights,
                          quote(name));
      }
    }
  }

  // Classes that are not named count once.
  void name_weights() {
    weights_.assign(labels_->size(), 1.0F);
    for (const auto& [name, weight] : named_) {
      int64_t label = labels_->find(name);
      if (label < 0) {
        throw usage_error("--class_weights={}: there is no class {}; there are {}",
                          options_.class_weights, quote(name), labels_->list());
      }
      weights_[static_cast<size_t>(label)] = weight;
    }
    if (std::all_of(weights_.begin(), weights_.end(), [](float w) { return w == 0; })) {
      throw usage_error("--class_weights={}: all classes have weight 0", options_.class_weights);
    }
  }

  static std::vector<std::string> texts_of(const std::vector<RowLabel>& labels) {
    std::vector<std::string> texts;
    texts.reserve(labels.size());
    for (const RowLabel& label : labels) texts.push_back(label.text);
    return texts;
  }

  static constexpr double kMostWeight = 1e6;
  static constexpr size_t kLeastLabels = 2;
  TargetOptions options_;
  std::shared_ptr<const Labels> labels_;
  std::vector<float> weights_;          // by class; empty: all 1
  std::map<std::string, float> named_;  // as asked for
};

}  // namespace

std::shared_ptr<TextTarget> make_single_label(const TargetOptions& options) {
  return std::make_shared<SingleLabel>(options);
}

}  // namespace bertrain
