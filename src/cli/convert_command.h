// The convert command: a checkpoint in another program's format.
#pragma once

#include "cli/command.h"

namespace bertrain {

extern const Command kConvertCommand;

}  // namespace bertrain
