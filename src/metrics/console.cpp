// Progress: one line of text, drawn over and over on a terminal, or logged now and then.
#include "metrics/console.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/log.h"

namespace bertrain {
namespace {

constexpr double kRedraw = 0.1, kSilence = 30;  // seconds
constexpr int kBarCells = 20;

double steady_seconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

void to_standard_error(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

bool on_terminal() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && kind && std::string_view(kind) != "dumb";
}

// 1234.5 → "1235", 12.34 → "12.3": three digits are enough for a rate.
std::string rate_text(double rate) {
  return rate >= 100 ? fmt::format("{:.0f}", rate) : fmt::format("{:.3g}", rate);
}

}  // namespace

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds > 1e9) return "unknown";
  auto whole = static_cast<int64_t>(std::llround(std::max(0.0, seconds)));
  int64_t minutes = whole / 60, hours = minutes / 60;
  if (hours >= 48) return fmt::format("{} d {} h", hours / 24, hours % 24);
  if (hours > 0) return fmt::format("{} h {} min", hours, minutes % 60);
  if (minutes > 0) return fmt::format("{} min {} s", minutes, whole % 60);
  return fmt::format("{} s", whole);
}

Console::Console(std::string_view stage, int64_t first, int64_t last)
    : Console(stage, first, last, on_terminal() ? Style::bar : Style::lines, steady_seconds,
              to_standard_error) {}

Console::Console(std::string_view stage, int64_t first, int64_t last, Style style,
                 std::function<double()> clock, std::function<void(std::string_view)> terminal)
    : stage_(stage),
      first_(first),
      last_(last),
      style_(style),
      clock_(std::move(clock)),
      terminal_(std::move(terminal)),
      started_(clock_()) {
  latest_.step = first;
  say_line();
  draw();
}

Console::~Console() { clear(); }

std::string Console::text(Style style) const {
  std::string text = fmt::format("{} step {}/{}", stage_, latest_.step, last_);
  if (style == Style::bar && last_ > 0) {
    auto full = std::clamp<int64_t>(latest_.step * kBarCells / last_, 0, kBarCells);
    text = fmt::format("{} [{:#<{}}{:.<{}}] {}/{}", stage_, "", full, "", kBarCells - full,
                       latest_.step, last_);
  }
  if (latest_.loss) text += fmt::format("  loss {:.4f}", *latest_.loss);
  if (latest_.learning_rate) text += fmt::format("  rate {:.3g}", *latest_.learning_rate);
  if (latest_.examples_per_second) {
    text += fmt::format("  {} examples/s", rate_text(*latest_.examples_per_second));
  }
  if (latest_.tokens_per_second) {
    text += fmt::format("  {} tokens/s", rate_text(*latest_.tokens_per_second));
  }
  if (latest_.step > first_ && latest_.step < last_) {
    double per_step = (clock_() - started_) / static_cast<double>(latest_.step - first_);
    double left = per_step * static_cast<double>(last_ - latest_.step);
    text += fmt::format("  {} left", duration_text(left));
  }
  return text;
}

void Console::say_line() {
  said_ = clock_();
  std::string line = text(Style::lines);
  style_ == Style::bar ? log_beside(line) : log_line(line);
}

void Console::draw() {
  if (style_ != Style::bar) return;
  drawn_ = clock_();
  // The cursor is left at the start, and the rest of the line is cleared, so that whatever is
  // printed next writes over the bar.
  terminal_("\r" + text(Style::bar) + "\x1b[K\r");
}

void Console::logged(const Progress& progress) {
  latest_ = progress;
  say_line();
  draw();
}

void Console::step(int64_t step) {
  latest_.step = step;
  double now = clock_();
  if (now - said_ >= kSilence) say_line();
  if (now - drawn_ >= kRedraw) draw();
}

void Console::clear() {
  if (style_ == Style::bar) terminal_("\r\x1b[K");
}

}  // namespace bertrain
