// Sorting labels as a person expects, and finding them.
#include "task/labels.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/error.h"
#include "base/quote.h"

namespace bertrain {
namespace {

bool is_number(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string::npos) return false;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size();
}

}  // namespace

Labels::Labels(std::vector<std::string> names) : names_(std::move(names)) {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (!index_.emplace(names_[i], static_cast<int64_t>(i)).second) {
      throw error("label {} is listed twice", quote(names_[i]));
    }
  }
}

Labels Labels::learn(const std::vector<std::string>& found) {
  std::set<std::string> distinct(found.begin(), found.end());
  std::vector<std::string> names(distinct.begin(), distinct.end());
  if (std::all_of(names.begin(), names.end(), is_number)) {
    // "1" and "1.0" are two labels of one value: the stable sort leaves them in byte order.
    std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return std::strtod(a.c_str(), nullptr) < std::strtod(b.c_str(), nullptr);
    });
  }
  return Labels(std::move(names));
}

int64_t Labels::find(std::string_view name) const {
  auto found = index_.find(name);
  return found == index_.end() ? -1 : found->second;
}

size_t Labels::bytes() const {
  size_t sum = 0;
  for (const std::string& name : names_) sum += name.size();
  return sum;
}

std::string Labels::list() const {
  constexpr size_t kShown = 20;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, names_.size()); ++i) {
    text += (i == 0 ? "" : ", ") + quote(names_[i]);
  }
  return names_.size() > kShown ? fmt::format("{}, … ({} in all)", text, names_.size()) : text;
}

}  // namespace bertrain
