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
#include "cli/run_group.h"

namespace bertrain {

using Arguments = std::vector<std::string>;
// The groups that a run is part of, the outermost first.
using Groups = std::vector<const RunGroup*>;
// One run by its arguments, to its end; its scores: null where nothing is evaluated, an empty object
// where the run was left before its end, as asked.
using RunOnce = std::function<Json(const Arguments& arguments, const Groups& groups)>;

// The arguments with others after them, which win.
Arguments with(std::span<const std::string_view> arguments, const Arguments& more);

// What several runs have in common.
struct SharedFlags {
  std::string output_dir;
  bool overwrite = false;
};

// Runs with the seeds seed, seed + 1, … in OUTPUT/seed-N.
struct Seeds {
  SharedFlags flags;
  int64_t first = 0, runs = 0;

  std::vector<std::string> folders() const;                                          // "seed-7"
  Arguments arguments(std::span<const std::string_view> shared, int64_t run) const;  // from 0
};

// Prints each score's mean and standard deviation (of a sample: by one less than the runs), and returns
// the means.
Json run_seeds(std::span<const std::string_view> arguments, const Seeds& seeds, Groups groups,
               const RunOnce& run, std::ostream& out);

// GLUE: each of its tasks whose folder is in data_dir, in OUTPUT/NAME; calls `check` for all of them
// before the first runs, and prints one table with the mean over the tasks. Throws a usage error where no
// task is there, and logs those that are not.
using CheckRun = std::function<void(const Arguments& arguments, const Groups& groups)>;
void run_glue(std::span<const std::string_view> arguments, const SharedFlags& flags,
              const std::string& data_dir, const CheckRun& check, const RunOnce& run,
              std::ostream& out);

}  // namespace bertrain
