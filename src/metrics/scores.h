// Scores of predictions against labels. All sums are in double; none of the results is ever NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bertrain {

class WeightedMean {
 public:
  void add(double value, double weight = 1) {
    sum_ += value * weight;
    weight_ += weight;
  }
  double mean() const { return weight_ > 0 ? sum_ / weight_ : 0; }  // 0 of nothing
  double weight() const { return weight_; }

 private:
  double sum_ = 0, weight_ = 0;
};

// Hits and misses of one class. A ratio without cases is 0 (scikit-learn's zero_division=0).
struct Hits {
  uint64_t true_positive = 0, false_positive = 0, false_negative = 0;
  double precision() const;
  double recall() const;
  double f1() const;
  uint64_t support() const { return true_positive + false_negative; }
};

// Counts of (label, predicted) pairs; memory grows with the pairs that occur, not with C².
class Confusion {
 public:
  explicit Confusion(size_t classes) : labelled_(classes), predicted_(classes), right_(classes) {}
  void add(size_t label, size_t predicted);  // both below classes(), else a logic_error
  size_t classes() const { return labelled_.size(); }
  uint64_t count(size_t label, size_t predicted) const;
  uint64_t total() const;

  // Two classes that were mistaken for each other, a < b.
  struct Mistaken {
    size_t a, b;
    uint64_t a_as_b, b_as_a;  // rows of the first predicted as the second, and the reverse
    uint64_t count() const { return a_as_b + b_as_a; }
  };
  std::vector<Mistaken> most_mistaken(size_t most) const;  // by falling count, at most so many
  double accuracy() const;                                 // 0 of nothing
  Hits hits(size_t label) const;
  double macro_f1() const;     // mean over the classes that occur as label or as prediction
  double weighted_f1() const;  // mean weighted by support
  // Correlation of two classes, or R_K of more [Gorodkin 2004]; 0 where it is not defined.
  double matthews() const;

 private:
  std::vector<uint64_t> labelled_, predicted_, right_;      // [C]
  std::map<std::pair<size_t, size_t>, uint64_t> mistakes_;  // by (label, predicted)
};

// F1 over all decisions of several classes together (multi-label tasks).
double micro_f1(std::span<const Hits> classes);

// Correlations of two rows of equal length. nullopt where there is none: fewer than two values, a
// side without variance, or a value that is not finite.
std::optional<double> pearson(std::span<const double> x, std::span<const double> y);
std::optional<double> spearman(std::span<const double> x, std::span<const double> y);  // mean ranks

}  // namespace bertrain
