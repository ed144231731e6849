// prepare --task=…: a task's rows as TFRecords with their meta data, as create_finetuning_data.py makes
// them.
#pragma once

#include <iosfwd>

#include "cli/command.h"

namespace bertrain {

bool names_task(Args args);  // --task, before a `--`
void run_prepare_task(Args args, std::ostream& out);

}  // namespace bertrain
