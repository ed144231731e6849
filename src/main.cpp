// The program's entry: its arguments go to the command they name.
#include <string_view>
#include <vector>

#include "cli/command.h"

int main(int argc, char** argv) {
  std::vector<std::string_view> args(argv + 1, argv + argc);
  return bertrain::run_program(args);
}
