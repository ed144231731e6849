// The inspect command: what is in a file.
#pragma once

#include "cli/command.h"

namespace bertrain {

extern const Command kInspectCommand;

}  // namespace bertrain
