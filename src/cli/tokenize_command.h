// The tokenize command: text in, pieces and ids out.
#pragma once

#include "cli/command.h"

namespace bertrain {

extern const Command kTokenizeCommand;

}  // namespace bertrain
