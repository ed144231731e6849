// Progress for a person: a bar on a terminal, plain lines in a log.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace bertrain {

// What is shown of a step; absent values are left out.
struct Progress {
  int64_t step = 0;
  std::optional<double> loss = {}, learning_rate = {}, examples_per_second = {},
                        tokens_per_second = {};
};

class Console {
 public:
  enum class Style { bar, lines };
  // Steps `first` … `last` of a stage named `stage` ("training"); says at once that it begins. The
  // style follows from whether standard error is a terminal.
  Console(std::string_view stage, int64_t first, int64_t last);
  // With a clock of one's own (seconds) and a place for the bar's text, for tests.
  Console(std::string_view stage, int64_t first, int64_t last, Style style,
          std::function<double()> clock, std::function<void(std::string_view)> terminal);
  ~Console();  // takes the bar away
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // A logged step: one line in a log (of a bar, only in the logs beside the terminal); the bar
  // takes over its numbers. Time left is estimated from all steps so far.
  void logged(const Progress& progress);
  // Any other step, cheap: moves the bar, 10 times a second at most; a log gets a line when it has
  // been silent for 30 seconds.
  void step(int64_t step);
  void clear();  // takes the bar away, so that something else can be printed

 private:
  std::string text(Style style) const;
  void say_line();
  void draw();

  std::string stage_;
  int64_t first_, last_;
  Style style_;
  std::function<double()> clock_;
  std::function<void(std::string_view)> terminal_;
  double started_ = 0, said_ = 0, drawn_ = 0;  // seconds of the clock
  Progress latest_;
};

std::string duration_text(double seconds);  // "3 h 20 min", "4 min 10 s", "12 s"

}  // namespace bertrain
