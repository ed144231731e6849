// The evaluate command.
#pragma once

#include "cli/command.h"

namespace bertrain {

extern const Command kEvaluateCommand;

}  // namespace bertrain
