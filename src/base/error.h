// The one exception type of the program, and the check for what would be a bug.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace bertrain {

// Process exit codes, as users and schedulers see them.
enum class ExitCode { done = 0, failed = 1, usage = 2, bug = 3, retry = 75 };

// What ends a command: a sentence naming the thing (file:line, record, tensor), what was expected
// and the way out.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ExitCode code = ExitCode::failed,
                 bool lacks_memory = false)
      : std::runtime_error(message), code_(code), lacks_memory_(lacks_memory) {}
  ExitCode code() const { return code_; }
  bool lacks_memory() const { return lacks_memory_; }  // a smaller batch might do

  // The same error with a place in front, for a layer that it passes: "reading x.tsv: ...".
  Error within(std::string_view place) const {
    return Error(std::string(place) + ": " + what(), code_, lacks_memory_);
  }

 private:
  ExitCode code_;
  bool lacks_memory_;
};

// throw error("{}:{}: {} fields expected, {} found", file, line, want, got);
template <class... Args>
Error error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(fmt::format(format, std::forward<Args>(args)...));
}

// The user asked for something that cannot be: exit code 2.
template <class... Args>
Error usage_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(fmt::format(format, std::forward<Args>(args)...), ExitCode::usage);
}

// What must hold unless the program itself is wrong: throws std::logic_error with file and line.
inline void check(bool holds, std::string_view what, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!holds) throw std::logic_error(fmt::format("{}:{}: {}", file, line, what));
}

}  // namespace bertrain
