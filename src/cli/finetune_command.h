// The finetune command, and its check on a few rows for who examines a run.
#pragma once

#include <functional>
#include <iosfwd>

#include "cli/command.h"
#include "cli/training_run.h"

namespace bertrain {

extern const Command kFinetuneCommand;

// finetune with these arguments, --overfit among them; `look` is called when model and rows are checked,
// before anything is trained.
void overfit(Args args, const std::function<void(const TrainingJob& job)>& look, std::ostream& out);

}  // namespace bertrain
