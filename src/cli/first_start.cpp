// What was chosen at a run's first start, compared with what this start would choose.
#include "cli/first_start.h"

#include <algorithm>

#include "base/error.h"
#include "base/machine.h"
#include "cli/devices.h"

namespace bertrain {

bool FirstStart::changed(std::initializer_list<const char*> settings) const {
  if (!run_.continues()) return false;
  const Json& before = run_.record()["settings"];
  return std::any_of(settings.begin(), settings.end(), [&](const char* name) {
    return before.value(name, Json()) != settings_.value(name, Json());
  });
}

void FirstStart::agree_instruction_set() const {
  std::optional<JsonValue> before = run_.chosen("instruction_set");
  const std::string name = before ? before->text() : "";
  if (name.empty()) return;  // the first start was on a device for which it decides nothing
  try {
    choose_instruction_set(options_.device, name);
  } catch (const Error& e) {
    run_.inexact(e.what());
  }
}

bool FirstStart::agree_devices(const Backend& backend) const {
  if (!run_.continues()) return true;
  if (changed({"device"})) return false;  // which has been said
  std::optional<JsonValue> before = run_.chosen("replicas");
  int64_t count = before ? before->integer(1, INT32_MAX) : 1;
  if (count != backend.replicas()) {
    run_.inexact(fmt::format("it ran on {} devices, here are {}", count, backend.replicas()));
    return false;
  }
  if (auto device = run_.chosen("device"); device && device->text() != backend.description()) {
    run_.inexact(fmt::format("it ran on {}, here is {}", device->text(), backend.description()));
  }
  return true;
}

std::string FirstStart::agreed_dtype() const {
  std::optional<JsonValue> before = run_.chosen("dtype");
  if (before && before->text() != "fp32" && before->text() != "bf16") {
    before->fail("\"fp32\" or \"bf16\"");
  }
  if (!before || changed({"dtype", "device"})) return usable_dtype(options_.device, options_.dtype);
  return before->text();
}

}  // namespace bertrain
