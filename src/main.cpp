// The program's entry: its arguments go to the command they name.
#include <csignal>
#include <string_view>
#include <vector>

#include "cli/command.h"

int main(int argc, char** argv) {
  // A file beyond the shell's limit (ulimit -f) is an error that names it, as a full disk is, and not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  std::vector<std::string_view> args(argv + 1, argv + argc);
  return bertrain::run_program(args);
}
