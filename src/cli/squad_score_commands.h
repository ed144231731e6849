// The official scoring of SQuAD's answers, by the names of its scripts.
#pragma once

#include "cli/command.h"

namespace bertrain {

extern const Command kScoreSquadV1Command;  // evaluate-v1.1.py
extern const Command kScoreSquadV2Command;  // evaluate-v2.0.py

}  // namespace bertrain
