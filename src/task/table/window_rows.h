// Rows of texts that are read in windows: one row, whose prediction is the mean of theirs.
#pragma once

#include <memory>

#include "task/table/target.h"
#include "task/task.h"

namespace bertrain {

// For batches whose notes may have `window` (see task/table/text_data.h). The target's rows are made of
// the means of what is predicted of all windows (logits, probabilities, values, each by itself), added
// up in the order of the windows in whatever order they come; with a label the loss is that of the
// mean probabilities or value. Rows of a single window pass as they are.
std::unique_ptr<Rows> make_window_rows(std::shared_ptr<const TextTarget> target);

}  // namespace bertrain
