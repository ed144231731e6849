// Whether a model fits a few of its training rows: if it does not, training on all of them is in vain,
// and what is wrong can be told.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "cli/training_options.h"
#include "cli/training_run.h"

namespace bertrain {

inline constexpr int64_t kMostFewRows = 256;

// Prints what the rows are (labels with the share of the most frequent, unknown pieces), trains on
// `rows` of them without a schedule until the loss is below 0.05, and where it does not get there in
// some hundreds of steps at any of five rates throws an Error that says what was found. Writes no
// file. The job's task and configuration should have no dropout.
void fit_few_rows(const TrainingJob& job, const TrainingOptions& options, int64_t rows,
                  std::ostream& out);

}  // namespace bertrain
