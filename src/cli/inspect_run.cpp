// inspect: a run's folder, what it was asked, how far it is, and what it reached.
#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/checked_json.h"
#include "base/error.h"
#include "checkpoint/retention.h"
#include "cli/inspect.h"
#include "cli/run_metrics.h"
#include "cli/training_run.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr uint64_t kMaxLock = 4096;

std::string record_file(const std::string& path) { return join_path(path, "run.json"); }

bool is_run(const std::string& path, std::string_view start) {
  return start.empty() && storage_for(path).size(record_file(path)).has_value();
}

// The last entries of metrics.jsonl that have a key, oldest first.
std::vector<Json> last_entries(const std::string& run, const std::string& key, size_t count) {
  std::vector<Json> found;
  read_metrics(run, key, [&](Json entry) {
    found.push_back(std::move(entry));
    if (found.size() > count) found.erase(found.begin());
  });
  return found;
}

void print_numbers(const Json& entry, std::ostream& out) {
  out << "  step " << entry.value("step", Json()).dump();
  for (const auto& [name, value] : entry.items()) {
    if (name != "step" && value.is_number()) {
      out << fmt::format("  {} {:.6g}", name, value.get<double>());
    }
  }
  out << "\n";
}

void print_settings(const Json& record, std::ostream& out) {
  auto settings = record.find("settings");
  if (settings == record.end() || !settings->is_object()) return;
  out << "settings:\n";
  for (const auto& [name, value] : settings->items()) {
    std::string text = value.dump();
    if (text != "\"\"" && text != "null") out << "  " << name << " = " << text << "\n";
  }
}

void describe_run(const std::string& path, const InspectOptions& options, std::ostream& out) {
  Json record = parse_json(read_file_up_to(record_file(path), kMaxRecord), record_file(path));
  JsonValue(record, record_file(path)).require_object();
  out << path << ": run of " << record.value("command", Json("?")).dump() << ", bertrain "
      << record.value("bertrain", Json("?")).dump() << ", " << record.value("starts", Json()).size()
      << " starts\n";
  bool finished = record.contains("finished");
  out << (finished ? "finished: " + record["finished"].dump() : "not finished") << "\n";
  if (storage_for(path).size(join_path(path, "lock"))) {
    out << "lock: " << read_file_up_to(join_path(path, "lock"), kMaxLock);
  }
  print_settings(record, out);
  out << "chosen: " << record.value("chosen", Json()).dump() << "\n";

  StateStore store(join_path(path, "checkpoints"), 1);
  std::optional<SavedState> best = store.best();
  out << "checkpoints:\n";
  for (const SavedState& state : store.states()) {
    if (options.verify) verify_state(state);
    out << "  " << state.directory << (best && best->step == state.step ? " (best)" : "") << "\n";
  }
  for (const Json& entry : last_entries(path, "learning_rate", 2)) print_numbers(entry, out);
  for (const Json& entry : last_entries(path, "eval_count", 2)) print_numbers(entry, out);
}

}  // namespace

const Inspector kInspectRun = {"run folder", is_run, describe_run};

}  // namespace bertrain
