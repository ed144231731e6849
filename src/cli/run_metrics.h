// The lines of a run's metrics.jsonl (docs/formats/run_directory.md).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace bertrain {

// Hands each entry that has `key` to `take`, oldest first; none where the run has no such file. What is
// no JSON object is passed over: a run that is under way may be writing its last line. Throws Error for
// a line that is longer than any entry.
void read_metrics(const std::string& run, std::string_view key,
                  const std::function<void(Json entry)>& take);

}  // namespace bertrain
