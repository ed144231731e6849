// A number a row: squared error; rows and correlations.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
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

// nullopt: none, or one beyond kLargestNumber.
std::optional<float> number_of(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  bool plus = text.starts_with('+') && !text.starts_with("+-");
  const char* begin = text.data() + (plus ? 1 : 0);
  auto [at, failed] = std::from_chars(begin, end, value);
  if (failed != std::errc() || at != end || !(std::abs(value) <= kLargestNumber))
    return std::nullopt;
  return static_cast<float>(value);
}

struct Spread {
  double mean = 0, variance = 0;  // the loss of a model that always says the mean
};
Spread spread_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  auto count = static_cast<double>(values.size());
  double mean = std::accumulate(values.begin(), values.end(), 0.0) / count, squares = 0;
  for (double value : values) squares += std::pow(value - mean, 2);
  return {mean, squares / count};
}

class RegressionRows final : public OrderedRows {
 public:
  void add(const Batch& batch, const Named<Array>& predictions) override {
    check(batch.notes.size() == batch.row.size(), "rows need the notes of their batch");
    auto value = predictions.at("value").as<float>();  // [E]
    auto loss = predictions.at("loss").as<float>();    // [E]
    for (size_t e = 0; e < batch.row.size(); ++e) {
      Example row = batch.notes[e];
      if (row.contains("gold")) row["loss"] = std::vector<float>{loss[e]};
      row["value"] = std::vector<float>{value[e]};
      finish(batch.row[e], std::move(row));
    }
  }
};

class RegressionScorer final : public Scorer {
 public:
  void add(const Example& row) override {
    if (!row.contains("gold")) {
      throw error("row {} (counted from 0) has no number, so it cannot be scored", gold_.size());
    }
    gold_.push_back(static_cast<double>(*number_of(strings(row, "gold").at(0))));
    value_.push_back(static_cast<double>(floats(row, "value").at(0)));
    loss_.add(static_cast<double>(floats(row, "loss").at(0)));
  }
  Json result() const override {
    std::optional<double> linear = pearson(value_, gold_), ranked = spearman(value_, gold_);
    if (!linear || !ranked) {
      log_line("Pearson's and Spearman's correlation are not defined here and stand as 0: {}",
               gold_.size() < 2      ? "they need two rows at least"
               : is_constant(gold_)  ? "all rows have the same number"
               : is_constant(value_) ? "the model says the same number of all rows"
                                     : "the numbers do not differ enough");
    }
    return {{"eval_pearson", linear.value_or(0)},
            {"eval_spearman", ranked.value_or(0)},
            {"eval_loss", loss_.mean()},
            {"eval_count", static_cast<uint64_t>(gold_.size())}};
  }

  std::string doubt() const override {
    constexpr double kNearlyNone = 0.01;  // of how the rows' numbers differ
    if (gold_.size() < kFewestToDoubt) return "";
    double said = std::sqrt(spread_of(value_).variance);
    double right = std::sqrt(spread_of(gold_).variance);
    if (said >= kNearlyNone * right) return "";
    return fmt::format(
        "the model says nearly the same number of every row (standard deviation {:.3g}, of the "
        "right numbers {:.3g}): it has not learnt to tell them apart",
        said, right);
  }

 private:
  static bool is_constant(const std::vector<double>& values) {
    return std::ranges::all_of(values, [&](double value) { return value == values.front(); });
  }

  std::vector<double> gold_, value_;
  WeightedMean loss_;
};

class RegressionCounts final : public TargetCounts {
 public:
  void add(const Example& example, bool begins_row) override {
    auto value = static_cast<double>(floats(example, "value").at(0));
    trained_.push_back(value);
    if (begins_row) rows_.push_back(value);
  }
  std::string text() const override {
    if (rows_.empty()) return "";
    auto [least, most] = std::minmax_element(rows_.begin(), rows_.end());
    Spread spread = spread_of(rows_);
    return fmt::format(
        "numbers of {} rows: from {:g} to {:g}, {:g} on average; always saying that has loss "
        "{:g}\n",
        rows_.size(), *least, *most, spread.mean, spread.variance);
  }
  double constant_loss() const override { return spread_of(trained_).variance; }
  std::string kind(const Example& example) const override {
    return fmt::format("{}", floats(example, "value").at(0));
  }

 private:
  std::vector<double> rows_, trained_;
};

class Regression final : public TextTarget {
 public:
  explicit Regression(const TargetOptions& options)
      : benchmark_(options.benchmark), least_(options.least), most_(options.most) {
    if (!options.labels.empty() || options.label_smoothing != 0 || !options.class_weights.empty()) {
      throw usage_error(
          "--task=regression has no classes: --labels, --label_smoothing and --class_weights are "
          "for classification");
    }
  }

  void learn(const std::vector<RowLabel>&, const LabelColumn&) override {}
  void take(const JsonValue&) override {}
  bool is_known() const override { return true; }

  void report(const std::vector<RowLabel>& labels, const LabelColumn& column) const override {
    std::vector<double> values;
    for (const RowLabel& label : labels) {
      values.push_back(static_cast<double>(*number_of(label.text)));
    }
    if (values.empty()) return;
    auto [least, most] = std::minmax_element(values.begin(), values.end());
    Spread spread = spread_of(values);
    log_line(
        "{}: numbers from {:g} to {:g}, {:.4f} on average; a model that says so of every row has "
        "loss {:.4f}",
        column.file, *least, *most, spread.mean, spread.variance);
  }

  std::string fault(const RowLabel& label) const override { return misfit(label); }
  std::string misfit(const RowLabel& label) const override {
    if (label.list) return TextTarget::misfit(label);
    std::optional<float> value = number_of(label.text);
    if (value && *value >= static_cast<float>(least_) && *value <= static_cast<float>(most_))
      return "";
    return fmt::format("{} is no number from {} to {}{}", quote(label.text), least_, most_,
                       benchmark_.empty() ? "" : ", as those of " + benchmark_ + " are");
  }

  void put(Example& example, const RowLabel* label) const override {
    bool sound = label && misfit(*label).empty();
    std::optional<float> value = sound ? number_of(label->text) : std::nullopt;
    example["value"] = std::vector<float>{value.value_or(0)};
    if (value) example["gold"] = std::vector<std::string>{label->text};
  }

  Schema schema() const override { return {{"value", {DType::f32, Axis::example, {}}}}; }
  LossTerm term() const override { return {"regression_loss", Axis::example, "example_weight", 0}; }
  int64_t outputs() const override { return 1; }

  Outputs build(bool, Tensor logits, const Inputs& batch) const override {
    Tensor value = reshape(logits, {-1});
    Tensor difference = value - batch.at("value");
    Tensor loss = difference * difference;
    return {{{"regression_loss", loss}}, {{"value", value}, {"loss", loss}}};
  }

  float loss_of(const Example& notes, std::span<const float> predicted) const override {
    float difference = predicted[0] - *number_of(strings(notes, "gold").at(0));
    return difference * difference;
  }
  std::unique_ptr<TargetCounts> counts() const override {
    return std::make_unique<RegressionCounts>();
  }
  std::unique_ptr<Rows> rows() const override { return std::make_unique<RegressionRows>(); }
  std::unique_ptr<Scorer> scorer() const override { return std::make_unique<RegressionScorer>(); }
  void describe(Json&) const override {}

 private:
  std::string benchmark_;
  double least_, most_;
};

}  // namespace

std::shared_ptr<TextTarget> make_regression(const TargetOptions& options) {
  return std::make_shared<Regression>(options);
}

}  // namespace bertrain
