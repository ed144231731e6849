// What the label column of a table says, and what the head on the encoder learns of it: one class of
// several, any number of classes, or a number.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked_json.h"
#include "task/task.h"

namespace bertrain {

inline constexpr double kLargestNumber = 1e6;  // its square is far from the largest float

struct TargetOptions {
  std::string labels;     // all classes in their order, by commas; empty: as learnt
  std::string benchmark;  // whose `labels` or numbers they are; empty: the user's own
  double least = -kLargestNumber, most = kLargestNumber;  // of a regression
  std::string class_weights;          // "balanced", or "name=weight,…"; empty: all count alike
  double label_smoothing = 0;         // share of the probability that is spread over all classes
  std::string label_separator = ",";  // between the classes of a row
};

// What the label column says of a row: a text, or of JSON lines an array, whose items may hold
// anything, the separator too.
struct RowLabel {
  RowLabel(std::string label) : text(std::move(label)) {}  // NOLINT(google-explicit-constructor)
  RowLabel(const char* label) : text(label) {}             // NOLINT(google-explicit-constructor)
  explicit RowLabel(std::vector<std::string> names) : list(std::move(names)) {}
  bool operator==(const RowLabel&) const = default;
  bool is_empty() const { return text.empty() && !list; }

  std::string text;
  std::optional<std::vector<std::string>> list;
};

// Where labels are from, for messages.
struct LabelColumn {
  std::string file, name;
};

// −ln of a probability; finite of 0 too.
inline float surprise_of(float probability) {
  return -std::log(std::max(probability, std::numeric_limits<float>::min()));
}

// Made for a new model by learn(), unless its labels were given, or for a trained one by take(); const
// after that.
class TextTarget {
 public:
  virtual ~TextTarget() = default;

  // From the labels of the rows to train on, where none were given. Throws Error where they make no task.
  virtual void learn(const std::vector<RowLabel>& labels, const LabelColumn& column) = 0;
  // From what describe() said.
  virtual void take(const JsonValue& description) = 0;
  virtual bool is_known() const = 0;  // after any of these
  // Logs how the labels to train on are spread: what a model scores that has learnt nothing else.
  virtual void report(const std::vector<RowLabel>& labels, const LabelColumn& column) const = 0;
  // Weights that depend on how often classes are trained on.
  virtual void weigh(const std::vector<RowLabel>& /*labels*/) {}

  // Whether an empty label is one; else it says that it is not known.
  virtual bool may_be_empty() const { return false; }
  // What makes a label one of another kind of task, whatever the classes are; empty: nothing.
  virtual std::string misfit(const RowLabel& label) const;
  // What is wrong with a label ("label 'x' is not among …"); empty: nothing.
  virtual std::string fault(const RowLabel& label) const = 0;
  // The schema's features of a row; zeros where the label is null or has a fault. A sound one is also
  // kept as the note `gold`.
  virtual void put(Example& example, const RowLabel* label) const = 0;
  virtual Schema schema() const = 0;
  virtual LossTerm term() const = 0;

  virtual std::unique_ptr<TargetCounts> counts() const = 0;  // of rows that put() made
  virtual int64_t outputs() const = 0;                       // logits are f32 [E, outputs]
  virtual Outputs build(bool training, Tensor logits, const Inputs& batch) const = 0;
  // The loss of a row whose prediction (`outputs` probabilities, or the value) was made of several; the
  // notes have a `gold`.
  virtual float loss_of(const Example& notes, std::span<const float> predicted) const = 0;
  virtual std::unique_ptr<Rows> rows() const = 0;
  virtual std::unique_ptr<Scorer> scorer() const = 0;
  virtual void describe(Json& description) const = 0;  // adds what take() reads
};

// "classification": one class a row. Schema: label i32 [E], with class weights label_weight f32 [E].
// Predictions: logits and probabilities f32 [E, C], loss f32 [E] (without smoothing and weights). Rows: `label`
// and `probability` of the likeliest class, `probabilities`, `logits`; with a label `gold` and `loss`.
// Scores: eval_accuracy, eval_loss, eval_macro_f1, eval_matthews, of two classes eval_f1 (of the
// second), eval_count. Details: classes (precision, recall, F1, support of each), confused (the
// pairs of classes taken for each other most often), and of at most 100 classes confusion (labels;
// matrix [label, predicted] of counts).
std::shared_ptr<TextTarget> make_single_label(const TargetOptions& options);

// "multilabel": each class by itself, there from a probability of a half. Schema: labels f32 [E, C].
// Rows: `labels`, `probabilities`, `logits`; with a label `gold` (a list) and `loss`. Scores: eval_micro_f1,
// eval_macro_f1, eval_accuracy (rows whose classes are all right), eval_loss (mean over classes),
// eval_count. Details: classes.
std::shared_ptr<TextTarget> make_multi_label(const TargetOptions& options);

// "regression": a number; the loss is the square of the error. Schema: value f32 [E]. Rows: `value`;
// with a label `gold` and `loss`. Scores: eval_pearson, eval_spearman (0 where they are not defined:
// one row, or all alike), eval_loss, eval_count.
std::shared_ptr<TextTarget> make_regression(const TargetOptions& options);

}  // namespace bertrain
