// The predict command.
#pragma once

#include "cli/command.h"

namespace bertrain {

extern const Command kPredictCommand;

}  // namespace bertrain
