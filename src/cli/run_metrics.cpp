// JSON lines by key.
#include "cli/run_metrics.h"

#include <utility>

#include "base/error.h"
#include "storage/storage.h"

namespace bertrain {

DamagedLines read_metrics(const std::string& run, std::string_view key,
                          const std::function<void(Json entry)>& take) {
  constexpr size_t kMostEntry = 1 << 20;  // bytes: some numbers
  std::string file = join_path(run, "metrics.jsonl");
  DamagedLines damaged;
  if (!storage_for(file).size(file)) return damaged;
  auto lines = read_lines(file);
  std::string line;
  while (lines->next(line)) {
    if (line.size() > kMostEntry) {
      throw error("{}:{}: a line of {} bytes, which no entry of a run has", file,
                  lines->line_number(), line.size());
    }
    Json entry = Json::parse(line, nullptr, false);
    if (!entry.is_object()) {
      if (damaged.count++ == 0) damaged.first = lines->line_number();
    } else if (entry.contains(key)) {
      take(std::move(entry));
    }
  }
  damaged.is_last_alone = damaged.count == 1 && damaged.first == lines->line_number();
  return damaged;
}

}  // namespace bertrain
