// The values of two trees side by side, those that differ as text.
#include "base/differences.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace bertrain {
namespace {

// The text from about `from` on, as much as a line bears; cut between characters.
std::string excerpt(const std::string& text, size_t from) {
  constexpr size_t kMost = 200, kBefore = 40;
  if (text.size() <= kMost) return text;
  auto between = [&](size_t at) {
    while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80)
      --at;
    return at;
  };
  size_t begin = from + kBefore <= kMost ? 0 : between(std::min(from, text.size()) - kBefore);
  size_t end = between(std::min(begin + kMost, text.size()));
  return (begin > 0 ? "…" : "") + text.substr(begin, end - begin) + (end < text.size() ? "…" : "");
}

std::string text_of(const Json* value) {
  return value ? value->dump(-1, ' ', false, Json::error_handler_t::replace) : "nothing";
}

// "5e-05 before, 0.0001 now", from where the two differ; of long lists their sizes and the first value
// that differs.
std::string difference(const Json* before, const Json* now, std::string_view name) {
  std::string a = text_of(before), b = text_of(now);
  size_t from =
      static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  bool lists = before && now && before->is_array() && now->is_array();
  if (lists && std::max(a.size(), b.size()) > 200) {
    size_t first = 0;
    while (first < before->size() && first < now->size() && (*before)[first] == (*now)[first]) {
      ++first;
    }
    auto at = [&](const Json& list) { return first < list.size() ? &list[first] : nullptr; };
    return fmt::format("{} {} before, {} now; the first that differs is number {}: {}",
                       before->size(), name, now->size(), first + 1,
                       difference(at(*before), at(*now), name));
  }
  return fmt::format("{} before, {} now", excerpt(a, from), excerpt(b, from));
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void compare(const Json* before, const Json* now, const std::string& place,
             const std::vector<std::string>& neutral, std::vector<std::string>& found) {
  bool objects = (!before || before->is_object()) && (!now || now->is_object()) && (before || now);
  if (!objects) {
    if (before && now && *before == *now) return;
    std::string_view name = std::string_view(place).substr(place.rfind('.') + 1);
    found.push_back(fmt::format("{}: {}", place, difference(before, now, name)));
    return;
  }
  auto part = [&](const std::string& name) {
    std::string inner = place.empty() ? name : place + "." + name;
    if (contains(neutral, inner)) return;
    const Json* b = before && before->contains(name) ? &(*before)[name] : nullptr;
    const Json* n = now && now->contains(name) ? &(*now)[name] : nullptr;
    compare(b, n, inner, neutral, found);
  };
  if (now) {
    for (const auto& [name, value] : now->items()) part(name);
  }
  if (before) {
    for (const auto& [name, value] : before->items()) {
      if (!now || !now->contains(name)) part(name);
    }
  }
}

}  // namespace

std::vector<std::string> differences(const Json& before, const Json& now,
                                     const std::vector<std::string>& neutral) {
  std::vector<std::string> found;
  compare(&before, &now, "", neutral, found);
  return found;
}

}  // namespace bertrain
