// Shares of names, and their entropy.
#include "task/target_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/quote.h"

namespace bertrain {

void Frequencies::add(const std::string& name, double weight) {
  weights_[name] += weight;
  total_ += weight;
}

double Frequencies::share(std::string_view name) const {
  auto found = weights_.find(name);
  return found == weights_.end() || total_ == 0 ? 0 : found->second / total_;
}

double Frequencies::entropy() const {
  double sum = 0;
  for (const auto& [name, weight] : weights_) {
    double share = total_ > 0 ? weight / total_ : 0;
    if (share > 0) sum -= share * std::log(share);
  }
  return std::max(sum, 0.0);
}

std::string Frequencies::text(std::string_view what, std::string_view things) const {
  constexpr size_t kMostListed = 20;
  if (weights_.empty()) return "";
  std::vector<std::pair<double, std::string>> most;
  for (const auto& [name, weight] : weights_) most.emplace_back(weight, name);
  std::stable_sort(most.begin(), most.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (most.size() == 1) {
    return fmt::format("{} of {} {}: all are {}\n", what, total_, things, quote(most[0].second));
  }
  std::string text =
      fmt::format("{} of {} {}: {}; always saying {} is right for {:.1f} %\n", what, total_, things,
                  most.size(), quote(most[0].second), 100 * most[0].first / total_);
  for (size_t i = 0; i < std::min(most.size(), kMostListed); ++i) {
    text += fmt::format("  {:6.1f} %  {}\n", 100 * most[i].first / total_, quote(most[i].second));
  }
  if (most.size() > kMostListed) text += fmt::format("  and {} more\n", most.size() - kMostListed);
  return text;
}

}  // namespace bertrain
