// Options of a command: one struct whose fields are listed once; parsing, --help and the saved
// settings derive from it.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace bertrain {

// Visits each option: v("max_seq_length", field, "longest example in tokens").
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;
  virtual void operator()(std::string_view name, std::string& value, std::string_view help) = 0;
  virtual void operator()(std::string_view name, int64_t& value, std::string_view help) = 0;
  virtual void operator()(std::string_view name, double& value, std::string_view help) = 0;
  virtual void operator()(std::string_view name, bool& value, std::string_view help) = 0;
  // A boolean whose absence means something of its own, which the help says.
  virtual void operator()(std::string_view name, std::optional<bool>& value,
                          std::string_view help) = 0;
};

// A struct of options: `void each(OptionVisitor& v)` lists every field.
using EachOption = std::function<void(OptionVisitor&)>;

// Fills the options from arguments: --name=value, --name value, -name, --flag, --noflag, `_` or `-`
// in names, the last one wins; `--` ends the options. --config=FILE reads TOML (name = value)
// first, so that arguments win over it. Returns the positional arguments. Throws a usage error
// (exit code 2) that names an unknown option's nearest neighbour, or a value that does not parse.
std::vector<std::string> parse_options(std::span<const std::string_view> args,
                                       const EachOption& each);

// The same for a command without positional arguments: a stray one is a usage error.
void parse_only_options(std::span<const std::string_view> args, const EachOption& each);

// Bounds of whole numbers that are sizes: far beyond what is of use, and well within what can be
// computed with.
constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMaxReplicas = 128;
constexpr int64_t kMaxBatchSize = int64_t{1} << 24;
// Of a run: its examples can be counted in 64 bits with batches of any size.
constexpr int64_t kMaxSteps = 500'000'000'000;

// A usage error that names the option and what is expected, unless least <= value <= most.
void require_between(std::string_view name, int64_t value, int64_t least, int64_t most);

std::string describe_options(const EachOption& each);  // the --help text: name, default, help
Json options_to_json(const EachOption& each);  // {"max_seq_length": 128, …}, in the order listed
// "" if none is near
std::string nearest(std::string_view name, const std::vector<std::string>& names);

struct Command;

// How every command begins, before it parses: if (wants_help(args)) return print_help(kCommand,
// each, out);
bool wants_help(std::span<const std::string_view> args);  // --help, -help or -h, before a `--`
void print_help(const Command& command, const EachOption& each, std::ostream& out);

}  // namespace bertrain
