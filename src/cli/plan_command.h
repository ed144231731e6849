// The plan command: what a training step would need of a device, before anything runs.
#pragma once

#include "cli/command.h"

namespace bertrain {

extern const Command kPlanCommand;

}  // namespace bertrain
