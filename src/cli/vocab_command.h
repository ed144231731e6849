// The vocab command: text in, a WordPiece vocabulary out.
#pragma once

#include "cli/command.h"

namespace bertrain {

extern const Command kVocabCommand;

}  // namespace bertrain
