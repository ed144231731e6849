// Counts of what is right and of what was predicted.
#include "metrics/one_sided.h"

#include <fmt/format.h>

#include "base/quote.h"

namespace bertrain {

void OneSided::add(const std::string& gold, const std::string& predicted) {
  ++counts_[gold].gold;
  ++counts_[predicted].predicted;
  ++total_;
}

std::string OneSided::doubt(std::string_view things, std::string_view marked) const {
  constexpr double kNearlyAll = 0.99;
  if (total_ < kFewestToDoubt) return "";
  auto share = [&](uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(total_);
  };
  for (const auto& [text, count] : counts_) {
    if (share(count.predicted) < kNearlyAll || share(count.gold) >= kNearlyAll) continue;
    return fmt::format(
        "{:.1f} % of the {} are {} {} by the model, which {:.1f} % are: it has not learnt to tell "
        "them apart",
        100 * share(count.predicted), things, marked, text.empty() ? "with nothing" : quote(text),
        100 * share(count.gold));
  }
  return "";
}

}  // namespace bertrain
