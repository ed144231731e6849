// From a plugin's error to an Error: its code, its reason in a readable length, the way out.
#include "backend/pjrt/call.h"

#include <array>
#include <filesystem>

#include "base/quote.h"

namespace bertrain {
namespace {

constexpr std::array kCodeNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// Functions that return nothing, unlike all others; they cannot fail.
template <class Args>
void call_plain(const PjrtPlugin& plugin, Args& args) {
  void* function = plugin.function(Args::kFunction);
  if (function == nullptr) return;
  args.head.struct_size = sizeof args;
  reinterpret_cast<void (*)(Args*)>(function)(&args);
}

AbiCode code_of(const PjrtPlugin& plugin, const AbiError* error) {
  AbiErrorGetCode args{};
  void* function = plugin.function(AbiErrorGetCode::kFunction);
  if (function == nullptr) return AbiCode::unknown;
  args.head.struct_size = sizeof args;
  args.error = error;
  reinterpret_cast<AbiError* (*)(AbiErrorGetCode*)>(function)(&args);
  return args.code;
}

void destroy(const PjrtPlugin& plugin, AbiError* error) {
  AbiErrorDestroy args{};
  args.error = error;
  call_plain(plugin, args);
}

bool is_worth_another_try(AbiCode code) {
  return code == AbiCode::unavailable || code == AbiCode::aborted ||
         code == AbiCode::deadline_exceeded;
}

// Lines of a stack trace: "    @     0x7f…  name", "0x7f…".
bool is_frame(std::string_view line) {
  size_t start = line.find_first_not_of(" \t");
  if (start == line.npos) return true;
  line.remove_prefix(start);
  return line.starts_with("@ ") || line.starts_with("0x");
}

// Where the plugin's author is told the place in its source: nothing after it is for users.
bool begins_trace(std::string_view line) {
  return line.starts_with("=== Source Location Trace") || line.starts_with("*** Begin stack trace");
}

}  // namespace

std::string name_of(AbiCode code) {
  auto number = static_cast<size_t>(code);
  if (number < kCodeNames.size()) return kCodeNames[number];
  return fmt::format("code {}", static_cast<int32_t>(code));
}

std::string readable_reason(std::string_view reason) {
  constexpr size_t kLines = 6, kBytes = 800;
  std::string text;
  size_t lines = 0;
  bool cut = false;
  while (!reason.empty() && !cut) {
    size_t end = std::min(reason.find('\n'), reason.size());
    std::string_view line = reason.substr(0, end);
    reason.remove_prefix(std::min(end + 1, reason.size()));
    if (begins_trace(line)) break;
    if (is_frame(line)) continue;
    cut = lines == kLines || text.size() + line.size() > kBytes;
    if (lines == kLines) break;
    if (lines++ > 0) text += "\n  ";
    line = line.substr(0, kBytes - std::min(kBytes, text.size()));
    // A character that the cut went through is dropped whole.
    while (cut && !line.empty() && (static_cast<unsigned char>(line.back()) & 0xc0) == 0x80) {
      line.remove_suffix(1);
    }
    if (cut && !line.empty() && static_cast<unsigned char>(line.back()) >= 0xc0) {
      line.remove_suffix(1);
    }
    for (char c : line) {
      auto byte = static_cast<unsigned char>(c);
      text += byte < 0x20 || byte == 0x7f ? ' ' : c;
    }
  }
  if (cut) text += " …";
  return text.empty() ? "no reason is given" : text;
}

Error error_of(const PjrtPlugin& plugin, AbiError* failure, const char* method) {
  AbiErrorMessage message{};
  message.error = failure;
  call_plain(plugin, message);
  AbiCode code = code_of(plugin, failure);
  std::string reason = message.message == nullptr
                           ? readable_reason("")
                           : readable_reason({message.message, message.message_size});
  destroy(plugin, failure);
  std::string text =
      fmt::format("{} of {}: {}: {}", method,
                  std::filesystem::path(plugin.path()).filename().string(), name_of(code), reason);
  bool lacks_memory = code == AbiCode::resource_exhausted;
  if (lacks_memory) {
    text =
        "the device has too little memory for this: a smaller batch, more parts (--accumulate), a "
        "lower --max_seq_length or a smaller model is expected\n  " +
        text;
  }
  ExitCode exit = is_worth_another_try(code) ? ExitCode::retry : ExitCode::failed;
  return Error(text, exit, lacks_memory);
}

void throw_lacking(const PjrtPlugin& plugin, const AbiFunction& function) {
  throw error("the plugin {} lacks {} (its API is {}): a newer one is expected",
              quote(plugin.path()), function.name, plugin.api_version());
}

AbiCode Failure::code() const { return error_ == nullptr ? AbiCode::ok : code_of(plugin_, error_); }

Failure::~Failure() {
  if (error_ != nullptr) destroy(plugin_, error_);
}

}  // namespace bertrain
