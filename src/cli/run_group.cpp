// runs.json, and the runs that a command takes the place of.
#include "cli/run_group.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/quote.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr uint64_t kMostBytes = 1 << 20;

bool is_listed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The folder and those below it that hold a run, or list some; what is below comes first.
void add_runs(const std::string& folder, std::vector<std::string>& found) {
  for (const std::string& name : runs_below(folder)) add_runs(join_path(folder, name), found);
  if (exists(join_path(folder, "run.json")) || exists(join_path(folder, "runs.json"))) {
    found.push_back(folder);
  }
}

}  // namespace

std::vector<std::string> runs_below(const std::string& folder) {
  std::string file = join_path(folder, "runs.json");
  if (!exists(file)) return {};
  Json list = parse_json(read_file_up_to(file, kMostBytes), file);
  std::vector<std::string> names = JsonValue(list, file).at("runs").texts();
  for (const std::string& name : names) {
    // What is listed may be removed, so that it has to be below the folder.
    bool plain =
        !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
    if (!plain) throw error("{}: {} is no name of a folder of a run", file, quote(name));
    if (std::filesystem::is_symlink(join_path(folder, name))) {
      throw error(
          "{}: {} is listed, and is a link to a folder elsewhere: runs of this folder are in it; "
          "move that folder here, or remove the link",
          file, quote(name));
    }
  }
  std::set<std::string> once;
  std::erase_if(names, [&](const std::string& name) { return !once.insert(name).second; });
  return names;
}

RunGroup::RunGroup(std::string output_dir, std::vector<std::string> runs, bool overwrite)
    : output_dir_(without_slashes(output_dir)), runs_(std::move(runs)), overwrite_(overwrite) {
  storage_for(output_dir_);  // an error that names the folder as it was given
  if (overwrite) return;
  std::vector<std::string> there = runs_below(output_dir_);
  if (runs_.empty() && !there.empty()) {
    throw error(
        "{} holds several runs ({}), and one is asked for: name the folder of one, use another "
        "--output_dir, or --overwrite (removes those runs)",
        output_dir_, fmt::join(there, ", "));
  }
  if (!runs_.empty() && exists(join_path(output_dir_, "run.json"))) {
    throw error(
        "{} holds one run, and several are asked for ({}): use another --output_dir, or "
        "--overwrite (removes that run)",
        output_dir_, fmt::join(runs_, ", "));
  }
}

void RunGroup::join(RunDirectory& run) const {
  run.replace_also(replaced(), [this] { write_down(); });
}

// Runs of the same name are each their own successor's to replace.
std::vector<std::string> RunGroup::replaced() const {
  std::vector<std::string> found;
  if (!overwrite_) return found;
  for (const std::string& name : runs_below(output_dir_)) {
    if (!is_listed(runs_, name)) add_runs(join_path(output_dir_, name), found);
  }
  if (!runs_.empty() && exists(join_path(output_dir_, "run.json"))) found.push_back(output_dir_);
  return found;
}

void RunGroup::write_down() const {
  std::vector<std::string> before = runs_below(output_dir_), all = runs_;
  if (runs_.empty()) {
    std::error_code ignored;  // then it names folders that are gone
    std::filesystem::remove(file(), ignored);
    return;
  }
  if (!overwrite_) {
    all = before;
    for (const std::string& name : runs_) {
      if (!is_listed(all, name)) all.push_back(name);
    }
  }
  if (all != before) write_text(file(), Json{{"runs", all}}.dump(2) + "\n");
}

std::string RunGroup::file() const { return join_path(output_dir_, "runs.json"); }

}  // namespace bertrain
