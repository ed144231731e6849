// The prepare command: text to pre-training examples.
#pragma once

#include "cli/command.h"

namespace bertrain {

extern const Command kPrepareCommand;

}  // namespace bertrain
