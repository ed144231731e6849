// The pretrain command.
#pragma once

#include "cli/command.h"

namespace bertrain {

extern const Command kPretrainCommand;

}  // namespace bertrain
