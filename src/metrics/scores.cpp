// Scores: counts of decisions and correlations.
#include "metrics/scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace bertrain {
namespace {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

double mean_of(std::span<const double> x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks(std::span<const double> x) {
  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] < x[b]; });
  std::vector<double> rank(x.size());
  for (size_t i = 0, j; i < order.size(); i = j) {
    for (j = i + 1; j < order.size() && x[order[j]] == x[order[i]];) ++j;
    for (size_t k = i; k < j; ++k) rank[order[k]] = (static_cast<double>(i + j) + 1) / 2;
  }
  return rank;
}

bool all_finite(std::span<const double> x) {
  return std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace

double Hits::precision() const {
  return ratio(static_cast<double>(true_positive),
               static_cast<double>(true_positive + false_positive));
}

double Hits::recall() const {
  return ratio(static_cast<double>(true_positive), static_cast<double>(support()));
}

double Hits::f1() const {
  return ratio(2 * static_cast<double>(true_positive),
               static_cast<double>(2 * true_positive + false_positive + false_negative));
}

void Confusion::add(size_t label, size_t predicted) {
  check(label < classes() && predicted < classes(), "a class beyond the number of classes");
  ++labelled_[label];
  ++predicted_[predicted];
  if (label == predicted) {
    ++right_[label];
  } else {
    ++mistakes_[{label, predicted}];
  }
}

uint64_t Confusion::count(size_t label, size_t predicted) const {
  if (label == predicted) return right_[label];
  auto found = mistakes_.find({label, predicted});
  return found == mistakes_.end() ? 0 : found->second;
}

uint64_t Confusion::total() const {
  return std::accumulate(labelled_.begin(), labelled_.end(), uint64_t{0});
}

double Confusion::accuracy() const {
  uint64_t right = std::accumulate(right_.begin(), right_.end(), uint64_t{0});
  return ratio(static_cast<double>(right), static_cast<double>(total()));
}

Hits Confusion::hits(size_t label) const {
  Hits h;
  h.true_positive = right_[label];
  h.false_positive = predicted_[label] - right_[label];
  h.false_negative = labelled_[label] - right_[label];
  return h;
}

std::vector<Confusion::Mistaken> Confusion::most_mistaken(size_t most) const {
  std::vector<Mistaken> pairs;
  for (const auto& [pair, count] : mistakes_) {
    auto [label, predicted] = pair;
    uint64_t reverse = this->count(predicted, label);
    if (label < predicted) {
      pairs.push_back({label, predicted, count, reverse});
    } else if (reverse == 0) {
      pairs.push_back({predicted, label, 0, count});
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const Mistaken& x, const Mistaken& y) {
    if (x.count() != y.count()) return x.count() > y.count();
    return std::pair(x.a, x.b) < std::pair(y.a, y.b);
  });
  if (pairs.size() > most) pairs.resize(most);
  return pairs;
}

double Confusion::macro_f1() const {
  WeightedMean mean;
  for (size_t c = 0; c < classes(); ++c) {
    Hits h = hits(c);
    if (h.support() + h.false_positive > 0) mean.add(h.f1());
  }
  return mean.mean();
}

double Confusion::weighted_f1() const {
  WeightedMean mean;
  for (size_t c = 0; c < classes(); ++c)
    mean.add(hits(c).f1(), static_cast<double>(hits(c).support()));
  return mean.mean();
}

double Confusion::matthews() const {
  // R_K = (c·s − Σ p_k t_k) / √((s² − Σ p_k²)(s² − Σ t_k²)): c right of s, p predicted, t true.
  double right = 0, sum = 0, both = 0, predicted_squares = 0, true_squares = 0;
  for (size_t c = 0; c < classes(); ++c) {
    Hits h = hits(c);
    auto truth = static_cast<double>(h.support());
    auto predicted = static_cast<double>(h.true_positive + h.false_positive);
    right += static_cast<double>(h.true_positive);
    sum += truth;
    both += predicted * truth;
    predicted_squares += predicted * predicted;
    true_squares += truth * truth;
  }
  double scale = std::sqrt(sum * sum - predicted_squares) * std::sqrt(sum * sum - true_squares);
  return scale > 0 ? (right * sum - both) / scale : 0;
}

double micro_f1(std::span<const Hits> classes) {
  Hits all;
  for (const Hits& h : classes) {
    all.true_positive += h.true_positive;
    all.false_positive += h.false_positive;
    all.false_negative += h.false_negative;
  }
  return all.f1();
}

std::optional<double> pearson(std::span<const double> x, std::span<const double> y) {
  check(x.size() == y.size(), "correlation of rows of different length");
  if (x.size() < 2 || !all_finite(x) || !all_finite(y)) return std::nullopt;
  double mean_x = mean_of(x), mean_y = mean_of(y), xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  // Equal values may leave a rest of rounding where there is no variance.
  double noise_x = 1e-13 * std::abs(mean_x), noise_y = 1e-13 * std::abs(mean_y);
  auto count = static_cast<double>(x.size());
  if (xx <= count * noise_x * noise_x || yy <= count * noise_y * noise_y) return std::nullopt;
  double r = xy / (std::sqrt(xx) * std::sqrt(yy));
  if (!std::isfinite(r)) return std::nullopt;
  return std::clamp(r, -1.0, 1.0);
}

std::optional<double> spearman(std::span<const double> x, std::span<const double> y) {
  if (!all_finite(x) || !all_finite(y)) return std::nullopt;
  return pearson(ranks(x), ranks(y));
}

}  // namespace bertrain
