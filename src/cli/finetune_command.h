// The finetune command.
#pragma once

#include "cli/command.h"

namespace bertrain {

extern const Command kFinetuneCommand;

}  // namespace bertrain
