// The embed command.
#pragma once

#include "cli/command.h"

namespace bertrain {

extern const Command kEmbedCommand;

}  // namespace bertrain
