// Several runs as one: with several seeds, or of all tasks of a benchmark; each in a folder of its own
// below the output folder, so that what is done is not done again.
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace bertrain {

using Arguments = std::vector<std::string>;
// One run by its arguments, to its end; its scores.
using RunOnce = std::function<Json(const Arguments& arguments)>;

// The arguments with others after them, which win.
Arguments with(std::span<const std::string_view> arguments, const Arguments& more);

// Runs with the seeds seed, seed + 1, … in OUTPUT/seed-N; prints each score's mean and standard
// deviation (of a sample: by one less than the runs), and returns the means.
Json run_seeds(std::span<const std::string_view> arguments, const std::string& output_dir,
               int64_t seed, int64_t runs, const RunOnce& run, std::ostream& out);

// GLUE: each of its tasks whose folder is in data_dir, in OUTPUT/NAME; prints one table with the mean
// over the tasks. Throws a usage error where no task is there, and logs those that are not.
void run_glue(std::span<const std::string_view> arguments, const std::string& output_dir,
              const std::string& data_dir, const RunOnce& run, std::ostream& out);

}  // namespace bertrain
