// Any number of classes a row: each by its own sigmoid; rows and F1.
#include <algorithm>
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

constexpr float kThreshold = 0.5;

// The classes that are there (not 0), in the order of the labels, whatever that of the row.
template <class Marks>
std::string set_text(const Labels& labels, const Marks& marks) {
  std::vector<std::string> names;
  for (size_t c = 0; c < labels.size(); ++c) {
    if (static_cast<bool>(marks.at(c))) names.push_back(labels.name(c));
  }
  return fmt::format("{}", fmt::join(names, ","));
}

class MultiLabelRows final : public OrderedRows {
 public:
  explicit MultiLabelRows(std::shared_ptr<const Labels> labels) : labels_(std::move(labels)) {}

  void add(const Batch& batch, const Named<Array>& predictions) override {
    check(batch.notes.size() == batch.row.size(), "rows need the notes of their batch");
    auto probabilities = predictions.at("probabilities").as<float>();  // [E, C]
    auto logits = predictions.at("logits").as<float>();                // [E, C]
    auto loss = predictions.at("loss").as<float>();                    // [E]
    size_t classes = labels_->size();
    for (size_t e = 0; e < batch.row.size(); ++e) {
      auto mine = probabilities.subspan(e * classes, classes);
      Example row = batch.notes[e];
      if (row.contains("gold")) row["loss"] = std::vector<float>{loss[e]};
      std::vector<std::string> there;
      for (size_t c = 0; c < classes; ++c) {
        if (mine[c] >= kThreshold) there.push_back(labels_->name(c));
      }
      row["labels"] = std::move(there);
      row["probabilities"] = std::vector<float>(mine.begin(), mine.end());
      auto raw = logits.subspan(e * classes, classes);
      row["logits"] = std::vector<float>(raw.begin(), raw.end());
      finish(batch.row[e], std::move(row));
    }
  }

 private:
  std::shared_ptr<const Labels> labels_;
};

class MultiLabelScorer final : public Scorer {
 public:
  explicit MultiLabelScorer(std::shared_ptr<const Labels> labels)
      : labels_(std::move(labels)), hits_(labels_->size()) {}

  void add(const Example& row) override {
    if (!row.contains("gold")) {
      throw error("row {} (counted from 0) has no labels, so it cannot be scored", rows_);
    }
    std::vector<bool> gold = marked(strings(row, "gold")), found = marked(strings(row, "labels"));
    for (size_t c = 0; c < hits_.size(); ++c) {
      hits_[c].true_positive += gold[c] && found[c];
      hits_[c].false_positive += !gold[c] && found[c];
      hits_[c].false_negative += gold[c] && !found[c];
    }
    right_ += gold == found;
    predicted_.add(set_text(*labels_, gold), set_text(*labels_, found));
    ++rows_;
    loss_.add(static_cast<double>(floats(row, "loss").at(0)));
  }

  Json result() const override {
    double macro = 0;
    for (const Hits& hits : hits_) macro += hits.f1();
    auto share = [&](double part, double whole) { return whole > 0 ? part / whole : 0; };
    return {{"eval_micro_f1", micro_f1(hits_)},
            {"eval_macro_f1", macro / static_cast<double>(hits_.size())},
            {"eval_accuracy", share(static_cast<double>(right_), static_cast<double>(rows_))},
            {"eval_loss", loss_.mean()},
            {"eval_count", rows_}};
  }

  std::string doubt() const override {
    uint64_t there = 0, given = 0;
    for (const Hits& hits : hits_) {
      there += hits.support();
      given += hits.true_positive + hits.false_positive;
    }
    // Where nearly no row has a label, giving none is nearly always right, and yet nothing is learnt.
    if (there >= kFewestToDoubt && given == 0) {
      return fmt::format(
          "no row is given a label, and {} are in them: the model has not learnt to tell rows "
          "apart",
          there);
    }
    return predicted_.doubt("rows", "labelled");
  }

  Json details() const override { return {{"classes", class_scores(*labels_, hits_)}}; }

 private:
  std::vector<bool> marked(const std::vector<std::string>& names) const {
    std::vector<bool> marks(labels_->size());
    for (const std::string& name : names) {
      int64_t label = labels_->find(name);
      check(label >= 0, "a scored row has labels of the model");
      marks[static_cast<size_t>(label)] = true;
    }
    return marks;
  }

  std::shared_ptr<const Labels> labels_;
  std::vector<Hits> hits_;
  OneSided predicted_;
  uint64_t rows_ = 0, right_ = 0;
  WeightedMean loss_;
};

// Classes of which a row has any number are each a choice of two, so that a model which says the same
// of every row says how frequent each is.
class MultiLabelCounts final : public TargetCounts {
 public:
  explicit MultiLabelCounts(std::shared_ptr<const Labels> labels)
      : labels_(std::move(labels)), classes_(labels_->size()) {}

  void add(const Example& example, bool begins_row) override {
    if (begins_row) rows_.add(kind(example));
    const std::vector<float>& marks = floats(example, "labels");
    for (size_t c = 0; c < classes_.size(); ++c) classes_[c].add(marks.at(c) > 0 ? "yes" : "no");
  }
  std::string text() const override { return rows_.text("sets of labels", "rows"); }
  double constant_loss() const override {
    double sum = 0;
    for (const Frequencies& one : classes_) sum += one.entropy();
    return sum / static_cast<double>(classes_.size());
  }
  std::string kind(const Example& example) const override {
    return set_text(*labels_, floats(example, "labels"));
  }

 private:
  std::shared_ptr<const Labels> labels_;
  Frequencies rows_;
  std::vector<Frequencies> classes_;
};

class MultiLabel final : public TextTarget {
 public:
  explicit MultiLabel(TargetOptions options)
      : options_(std::move(options)), labels_(given_labels(options_, kLeastLabels)) {
    if (options_.label_separator.empty()) {
      throw usage_error("--label_separator is empty: what stands between the labels of a row?");
    }
    if (options_.label_smoothing != 0 || !options_.class_weights.empty()) {
      throw usage_error(
          "--task=multilabel has neither --label_smoothing nor --class_weights, which are for one "
          "class a row");
    }
  }

  void learn(const std::vector<RowLabel>& labels, const LabelColumn& column) override {
    std::vector<std::string> all;
    for (const RowLabel& row : labels) {
      for (std::string& name : parts(row)) all.push_back(std::move(name));
    }
    labels_ = std::make_shared<Labels>(learn_labels(all, kLeastLabels, column));
  }
  void take(const JsonValue& description) override {
    labels_ = std::make_shared<Labels>(described_labels(description, kLeastLabels));
    options_.labels.clear();  // the model's now
    if (auto found = description.find("label_separator")) {
      if (found->text().empty()) found->fail("what stands between the labels of a row");
      options_.label_separator = found->text();
    }
  }
  bool is_known() const override { return labels_ != nullptr; }

  void report(const std::vector<RowLabel>& labels, const LabelColumn& column) const override {
    std::vector<std::string> all;
    uint64_t without = 0;
    for (const RowLabel& row : labels) {
      std::vector<std::string> names = parts(row);
      without += names.empty();
      all.insert(all.end(), names.begin(), names.end());
    }
    std::map<std::string, uint64_t> counts = count_labels(all);
    auto most = std::max_element(counts.begin(), counts.end(),
                                 [](const auto& a, const auto& b) { return a.second < b.second; });
    auto rows = static_cast<double>(labels.size());
    if (most == counts.end()) return;
    log_line(
        "{}: {} labels, {:.2f} a row; the most frequent, {}, has {:.1f} % of the rows; {} rows "
        "have none",
        column.file, labels_->size(), static_cast<double>(all.size()) / rows, quote(most->first),
        100.0 * static_cast<double>(most->second) / rows, without);
  }

  bool may_be_empty() const override { return true; }
  std::string misfit(const RowLabel&) const override { return ""; }
  std::string fault(const RowLabel& label) const override {
    for (const std::string& name : parts(label)) {
      if (labels_->find(name) >= 0) continue;
      return unknown_label(name, *labels_, options_);
    }
    return "";
  }

  void put(Example& example, const RowLabel* label) const override {
    std::vector<float> marks(labels_->size(), 0.0F);
    if (label && fault(*label).empty()) {
      std::vector<std::string> names = parts(*label);
      for (const std::string& name : names) marks[static_cast<size_t>(labels_->find(name))] = 1;
      example["gold"] = std::move(names);
    }
    example["labels"] = std::move(marks);
  }

  Schema schema() const override { return {{"labels", {DType::f32, Axis::example, {outputs()}}}}; }
  LossTerm term() const override { return {"multilabel_loss", Axis::example, "example_weight", 0}; }
  int64_t outputs() const override { return static_cast<int64_t>(labels_->size()); }

  // −log σ(x) where the class is there, −log σ(−x) where it is not: max(x, 0) − x y + log(1 + e^−|x|),
  // which no x overflows.
  Outputs build(bool, Tensor logits, const Inputs& batch) const override {
    Graph& graph = logits.graph();
    Tensor zero = full(graph, logits.shape(), 0), one = full(graph, logits.shape(), 1);
    Tensor size = maximum(logits, negate(logits));
    Tensor small = exp(negate(size));
    Tensor each = maximum(logits, zero) - logits * batch.at("labels") + log(one + small);
    Tensor loss = reduce_sum(each, {1}) * (1.0 / static_cast<double>(outputs()));
    Tensor positive = compare(logits, zero, Compare::greater_equal);
    Tensor probabilities = select(positive, one, small) / (one + small);
    return {{{"multilabel_loss", loss}},
            {{"logits", logits}, {"probabilities", probabilities}, {"loss", loss}}};
  }

  float loss_of(const Example& notes, std::span<const float> predicted) const override {
    const std::vector<std::string>& gold = strings(notes, "gold");
    double sum = 0;
    for (size_t c = 0; c < predicted.size(); ++c) {
      bool there = std::find(gold.begin(), gold.end(), labels_->name(c)) != gold.end();
      sum += static_cast<double>(surprise_of(there ? predicted[c] : 1 - predicted[c]));
    }
    return static_cast<float>(sum / static_cast<double>(predicted.size()));
  }
  std::unique_ptr<TargetCounts> counts() const override {
    return std::make_unique<MultiLabelCounts>(labels_);
  }
  std::unique_ptr<Rows> rows() const override { return std::make_unique<MultiLabelRows>(labels_); }
  std::unique_ptr<Scorer> scorer() const override {
    return std::make_unique<MultiLabelScorer>(labels_);
  }
  void describe(Json& description) const override {
    description["labels"] = labels_->names();
    description["label_separator"] = options_.label_separator;
  }

 private:
  static constexpr size_t kLeastLabels = 1;

  // Each class once, in the order of the row.
  std::vector<std::string> parts(const RowLabel& row) const {
    std::vector<std::string> names;
    std::vector<std::string> all =
        row.list ? *row.list : split_list(row.text, options_.label_separator);
    for (std::string& name : all) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
    return names;
  }

  TargetOptions options_;
  std::shared_ptr<const Labels> labels_;
};

}  // namespace

std::shared_ptr<TextTarget> make_multi_label(const TargetOptions& options) {
  return std::make_shared<MultiLabel>(options);
}

}  // namespace bertrain
