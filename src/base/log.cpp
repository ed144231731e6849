// Log sinks: standard error, and whatever a run adds (log.txt).
#include "base/log.h"

#include <cstdio>
#include <map>
#include <mutex>

#include "base/quote.h"

namespace bertrain {
namespace {

struct Sinks {
  std::mutex mutex;
  std::map<int, std::function<void(std::string_view)>> added;
  int next = 0;
};
Sinks& sinks() {
  static Sinks all;
  return all;
}

}  // namespace

void log_line(std::string_view line) {
  std::lock_guard lock(sinks().mutex);
  log_alone(line);
  for (auto& [id, sink] : sinks().added) sink(line);
}

void log_beside(std::string_view line) {
  std::lock_guard lock(sinks().mutex);
  for (auto& [id, sink] : sinks().added) sink(line);
}

void log_alone(std::string_view line) {
  // Names from files may hold anything, and a terminal obeys control characters.
  std::string whole = printable(line, "\n\t") + "\n";
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

void log_warning(std::string_view line) {
  log_line(std::string_view("warning: " + std::string(line)));
}

LogSink::LogSink(std::function<void(std::string_view)> sink) {
  std::lock_guard lock(sinks().mutex);
  id_ = sinks().next++;
  sinks().added[id_] = std::move(sink);
}

LogSink::~LogSink() {
  std::lock_guard lock(sinks().mutex);
  sinks().added.erase(id_);
}

bool Silence::is_long() {
  auto now = std::chrono::steady_clock::now();
  if (std::chrono::duration<double>(now - last_).count() < wait_) return false;
  last_ = now;
  wait_ = later_;
  return true;
}

}  // namespace bertrain
