// Whether a model fits a few of its training rows: if it does not, training on all of them is in vain,
// and what is wrong can be told.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/training_options.h"
#include "cli/training_run.h"

namespace bertrain {

inline constexpr int64_t kMostFewRows = 256;

// Options that are without effect here, as there is one batch, a constant rate, and nothing is
// evaluated or saved.
std::vector<std::string> unused_by_few_rows();

// Prints what all rows are (targets with what a model gets that says the same of each, contradictions,
// unknown pieces), trains on `rows` of them without a schedule until the loss is below a tenth of what
// the best constant prediction has on them, and where it does not get there in some hundreds of steps
// at any of up to five rates throws an Error that says what was found. Writes no file. The job's task
// and configuration should have no dropout.
void fit_few_rows(const TrainingJob& job, const TrainingOptions& options, int64_t rows,
                  std::ostream& out);

}  // namespace bertrain
