// The endings of all optimizers.
#include "optim/slot_names.h"

namespace bertrain {

std::string_view slot_owner(std::string_view name) {
  static constexpr std::string_view kSlots[] = {"adam_m", "adam_v", "lamb_m",  "lamb_v",
                                                "amos_m", "amos_v", "amos_b",  "momentum",
                                                "Adam",   "Adam_1", "Momentum"};
  size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return "";
  for (std::string_view slot : kSlots) {
    if (name.substr(slash + 1) == slot) return name.substr(0, slash);
  }
  return "";
}

}  // namespace bertrain
