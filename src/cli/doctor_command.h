// The doctor command.
#pragma once

#include "cli/command.h"

namespace bertrain {

extern const Command kDoctorCommand;

}  // namespace bertrain
