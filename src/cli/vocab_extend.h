// vocab extend: words of a field get pieces of their own in a model that was trained without them.
#pragma once

#include "cli/command.h"

namespace bertrain {

// A part of the vocab command: `args` are those after "extend".
extern const Command kVocabExtendCommand;

}  // namespace bertrain
