// The dynamic dispatch of Highway by names.
#include "backend/cpu/kernels/instruction_set.h"

#include "base/error.h"
#include "hwy/highway.h"

namespace bertrain {
namespace {

std::vector<int64_t> detect_targets() {
  std::vector<int64_t> targets;
  for (int bit = 0; bit < 63; ++bit) {
    const int64_t target = int64_t{1} << bit;
    if ((HWY_TARGETS & target) == 0) continue;
    if (target == HWY_STATIC_TARGET || (hwy::SupportedTargets() & target) != 0) {
      targets.push_back(target);
    }
  }
  return targets;
}

const std::vector<int64_t>& usable_targets() {
  static const std::vector<int64_t> targets = detect_targets();  // asking a virtual CPU is slow
  return targets;
}

int64_t chosen = 0;  // 0: not chosen, so the best

}  // namespace

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (int64_t target : usable_targets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

std::string instruction_set() {
  return hwy::TargetName(chosen != 0 ? chosen : usable_targets().front());
}

void use_instruction_set(std::string_view name) {
  for (int64_t target : usable_targets()) {
    if (name != hwy::TargetName(target)) continue;
    chosen = target;
    hwy::GetChosenTarget().Update(target);
    return;
  }
  std::string known;
  for (const std::string& set : instruction_sets()) known += " " + set;
  throw Error("this CPU does not run the instruction set " + std::string(name) + "; it has" +
              known);
}

}  // namespace bertrain
