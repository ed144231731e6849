// The devices command: what there is to run on, and why a plugin does not load.
#pragma once

#include "cli/command.h"

namespace bertrain {

extern const Command kDevicesCommand;

}  // namespace bertrain
