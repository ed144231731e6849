// Parsing of cadences, and when they are due.
#include "train/cadence.h"

#include <charconv>
#include <cmath>

#include "base/error.h"

namespace bertrain {
namespace {

// How many whole periods have passed. The small addition keeps a boundary that is met exactly on
// its own step: (3 / 0.1) is a hair below 30 in binary.
double periods(double amount, double every) { return std::floor(amount / every + 1e-9); }

}  // namespace

Cadence parse_cadence(std::string_view flag, std::string_view text) {
  if (text == "never") return {};
  double number = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  Cadence result{Cadence::never, number};
  if (unit.empty() || unit == "step" || unit == "steps") {
    result.unit = Cadence::steps;
  } else if (unit == "epoch" || unit == "epochs") {
    result.unit = Cadence::epochs;
  } else if (unit == "s" || unit == "m" || unit == "h") {
    result.unit = Cadence::seconds;
    result.every *= unit == "s" ? 1 : unit == "m" ? 60 : 3600;
  }
  bool whole = result.unit != Cadence::steps || number == std::floor(number);
  if (code != std::errc() || result.unit == Cadence::never || !std::isfinite(number) ||
      number < 0 || number > 1e15 || !whole) {
    throw usage_error(
        "--{}={}: steps (500), epochs (1epoch), a time (30s, 10m, 2h), never or 0 expected", flag,
        text);
  }
  if (number == 0) return {};
  return result;
}

std::string to_string(const Cadence& cadence) {
  switch (cadence.unit) {
    case Cadence::steps:
      return fmt::format("{} steps", cadence.every);
    case Cadence::epochs:
      return fmt::format("{} epochs", cadence.every);
    case Cadence::seconds:
      return fmt::format("{} s", cadence.every);
    case Cadence::never:
      break;
  }
  return "never";
}

bool due(const Cadence& cadence, int64_t step, double steps_per_epoch, double seconds) {
  double now = static_cast<double>(step);
  switch (cadence.unit) {
    case Cadence::steps:
      return std::fmod(now, cadence.every) == 0;
    case Cadence::epochs: {
      double every = cadence.every * steps_per_epoch;
      return periods(now, every) > periods(now - 1, every);
    }
    case Cadence::seconds:
      return seconds >= cadence.every;
    case Cadence::never:
      break;
  }
  return false;
}

int64_t most_times(const Cadence& cadence, int64_t steps, double steps_per_epoch) {
  if (cadence.unit == Cadence::never) return 0;
  if (cadence.unit == Cadence::seconds) return steps;
  double every = cadence.every * (cadence.unit == Cadence::epochs ? steps_per_epoch : 1);
  double times = periods(static_cast<double>(steps), every);
  return times < static_cast<double>(steps) ? static_cast<int64_t>(times) : steps;
}

}  // namespace bertrain
