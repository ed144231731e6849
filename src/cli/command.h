// The commands of the program: a table of name, summary, examples and function.
#pragma once

#include <iosfwd>
#include <span>
#include <string_view>

namespace bertrain {

using Args = std::span<const std::string_view>;

struct Command {
  std::string_view name, summary, example;
  void (*run)(Args args, std::ostream& out);  // results go to `out`; throws Error
};

std::span<const Command* const> commands();  // in the order of the journey
int run_program(Args args);  // finds the command, prints an Error, returns the exit code

}  // namespace bertrain
