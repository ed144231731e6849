// The lines of a run's metrics.jsonl (docs/formats/run_directory.md).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace bertrain {

// Lines that are no JSON objects.
struct DamagedLines {
  uint64_t count = 0, first = 0;  // first: its number, from 1
  bool is_last_alone = false;     // as where a run that is under way writes just now
};

// Hands each entry that has `key` to `take`, oldest first; none where the run has no such file. Damaged
// lines are passed over and counted. Throws Error for a line that is longer than any entry.
DamagedLines read_metrics(const std::string& run, std::string_view key,
                          const std::function<void(Json entry)>& take);

}  // namespace bertrain
