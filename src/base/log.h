// Lines that a person reads: what is going on, and what was noticed. Results go to a command's
// stream instead.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace bertrain {

void log_line(std::string_view line);     // to every sink
void log_warning(std::string_view line);  // the same with "warning: " in front
// To the added sinks alone, where standard error shows the same in another way.
void log_beside(std::string_view line);
// To standard error alone, and so also from within a sink: that it cannot write.
void log_alone(std::string_view line);

// Every line also goes to `sink` while the returned handle lives; standard error is the first sink.
class LogSink {
 public:
  explicit LogSink(std::function<void(std::string_view)> sink);
  ~LogSink();
  LogSink(const LogSink&) = delete;
  LogSink& operator=(const LogSink&) = delete;

 private:
  int id_;
};

// Whether nothing was said for so long that a line is due: first after `first` seconds, then after
// `later` each time.
class Silence {
 public:
  Silence(double first, double later) : wait_(first), later_(later) {}
  bool is_long();  // true: the caller says something now

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  double wait_, later_;
};

// What was said of data that are read several times: to sample them, to score them, in every pass.
// Safe from many threads: one may read ahead while another evaluates.
class ToldOnce {
 public:
  // Whether nothing was said of it yet; from now on it was. `what`: a line, or a file's name.
  bool is_new(const std::string& what) {
    std::lock_guard<std::mutex> lock(mutex_);
    return said_.insert(what).second;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> said_;
};

template <class... Args>
void log_line(fmt::format_string<Args...> format, Args&&... args) requires(sizeof...(Args) > 0) {
  log_line(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) requires(sizeof...(Args) > 0) {
  log_warning(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace bertrain
