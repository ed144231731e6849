// Calls of a plugin's functions: sizes filled in, what it lacks noticed, its errors thrown.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "backend/pjrt/plugin.h"
#include "base/error.h"

namespace bertrain {

// The Error that a plugin's error is, destroyed by this: "PJRT_Client_Compile of pjrt.so: INTERNAL:
// reason", the reason cut to its first lines. Codes that say that the device or another process may
// be back later carry ExitCode::retry; too little device memory names the options that need less.
Error error_of(const PjrtPlugin& plugin, AbiError* failure, const char* method);

// The code's name as the interface spells it: "RESOURCE_EXHAUSTED".
std::string name_of(AbiCode code);

// A plugin's reason as a person reads it: the first lines, no control characters, no addresses of
// a stack trace.
std::string readable_reason(std::string_view reason);

[[noreturn]] void throw_lacking(const PjrtPlugin& plugin, const AbiFunction& function);

// An error of the plugin: empty, or owned until it is thrown or dropped.
class Failure {
 public:
  Failure(const PjrtPlugin& plugin, AbiError* error, const char* method)
      : plugin_(plugin), error_(error), method_(method) {}
  ~Failure();
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;
  explicit operator bool() const { return error_ != nullptr; }
  AbiCode code() const;  // ok where there is none
  // The Error, which this then no longer owns; only where there is one. `method`: what is to be
  // named instead of the function called, which only waited.
  Error take(const char* method = nullptr) {
    return error_of(plugin_, std::exchange(error_, nullptr), method == nullptr ? method_ : method);
  }

 private:
  const PjrtPlugin& plugin_;
  AbiError* error_;
  const char* method_;
};

// Calls the function that takes `Args` and gives back what failed. The struct that the plugin sees is
// longer than ours, and zero there: a newer plugin finds its further fields, each with its default.
// Throws an Error that names the function where the plugin lacks it.
template <class Args>
Failure attempt(const PjrtPlugin& plugin, Args& args) {
  struct {
    Args args;
    std::byte later[256];
  } given;
  void* function = plugin.function(Args::kFunction);
  if (function == nullptr) throw_lacking(plugin, Args::kFunction);
  given.args = args;
  std::memset(given.later, 0, sizeof given.later);
  given.args.head = {sizeof given, nullptr};
  AbiError* failure = reinterpret_cast<AbiError* (*)(Args*)>(function)(&given.args);
  args = given.args;
  return Failure(plugin, failure, Args::kFunction.name);
}

// The same; a failure is thrown.
template <class Args>
void call(const PjrtPlugin& plugin, Args& args) {
  Failure failure = attempt(plugin, args);
  if (failure) throw failure.take();
}

// For facts that not every plugin has: false where it lacks the function or says so.
template <class Args>
bool call_where_offered(const PjrtPlugin& plugin, Args& args) {
  if (plugin.function(Args::kFunction) == nullptr) return false;
  return !attempt(plugin, args);
}

// Gives an object back; no destructor throws, and a plugin that cannot take it back keeps it.
template <class Args>
void give_back(const PjrtPlugin& plugin, Args args) noexcept {
  if (plugin.function(Args::kFunction) != nullptr) attempt(plugin, args);
}

}  // namespace bertrain
