// The doctor command: why a fine-tuning run does not learn, by its record, its curve and a few rows.
#include "cli/doctor_command.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "base/checked_json.h"
#include "base/differences.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "cli/few_rows.h"
#include "cli/finetune_command.h"
#include "cli/options.h"
#include "cli/run_metrics.h"
#include "storage/storage.h"
#include "train/run_directory.h"

namespace bertrain {
namespace {

namespace fs = std::filesystem;

struct DoctorOptions {
  std::string folder, device, memory;
  int64_t overfit = 8, threads = 0;

  EachOption each() {
    return [this](OptionVisitor& v) {
      v("overfit", overfit, "training rows to fit alone, as finetune --overfit; 0: none");
      v("folder", folder,
        "what the run's relative paths are relative to (default: where it was started)");
      v("device", device, "as of finetune (default: the run's)");
      v("threads", threads, "0: as many as the machine or its cgroup allows");
      v("memory", memory, "limit as 8GiB or 75%; empty: 80% of what the machine or cgroup allows");
    };
  }
};

struct Curve {
  std::vector<double> losses;
  double largest_rate = 0;
  uint64_t not_finite = 0;
  DamagedLines damaged;
};

Curve read_curve(const std::string& run) {
  Curve curve;
  curve.damaged = read_metrics(run, "learning_rate", [&](const Json& entry) {
    if (!entry.contains("loss")) return;
    double loss = entry["loss"].is_number() ? entry["loss"].get<double>() : NAN;
    if (!std::isfinite(loss)) {
      ++curve.not_finite;
      return;
    }
    curve.losses.push_back(loss);
    if (entry["learning_rate"].is_number()) {
      curve.largest_rate = std::max(curve.largest_rate, entry["learning_rate"].get<double>());
    }
  });
  return curve;
}

double mean(const std::vector<double>& values, size_t first, size_t count) {
  double sum = 0;
  for (size_t i = first; i < first + count; ++i) sum += values[i];
  return sum / static_cast<double>(count);
}

void print_curve(const Curve& curve, bool finished, std::ostream& out) {
  constexpr size_t kEnds = 10;    // entries whose mean is the curve's beginning, or its end
  constexpr double kFell = 0.95;  // what is above it is noise
  const DamagedLines& damaged = curve.damaged;
  if (damaged.count > 0 && (finished || !damaged.is_last_alone)) {
    out << fmt::format(
        "  metrics.jsonl is damaged: {} of its lines are no entries (line {} is the first), and "
        "are left out here\n",
        damaged.count, damaged.first);
  }
  if (curve.not_finite > 0) {
    out << "  the loss of " << curve.not_finite
        << " logged steps is not a finite number: a lower --learning_rate helps\n";
  }
  if (curve.losses.empty()) {
    out << "  no step is logged\n";
    return;
  }
  size_t part = std::clamp<size_t>(curve.losses.size() / 2, 1, kEnds);
  double first = mean(curve.losses, 0, part);
  double last = mean(curve.losses, curve.losses.size() - part, part);
  out << fmt::format("  loss {:.4f} in the first logged steps, {:.4f} in the last{}\n", first, last,
                     last < kFell * first ? "" : ": it did not fall");
  out << fmt::format("  largest rate {:g}\n", curve.largest_rate);
}

// Of several seeds or tasks, each in a folder of its own, or of several seeds of several tasks.
std::vector<std::string> runs_within(const std::string& path) {
  std::vector<std::string> runs;
  std::error_code none;
  for (fs::recursive_directory_iterator entry(path, none), end; !none && entry != end;
       entry.increment(none)) {
    if (entry.depth() == 2) entry.disable_recursion_pending();
    if (entry.depth() > 0 && entry->path().filename() == "run.json") {
      runs.push_back(entry->path().parent_path().string());
    }
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

Json read_record(const std::string& run) {
  std::string file = join_path(run, "run.json");
  if (storage_for(file).size(file)) return parse_json(read_file_up_to(file, kMaxRecord), file);
  std::vector<std::string> within = runs_within(run);
  if (within.empty()) throw error("{}: no run's folder (there is no run.json)", run);
  throw usage_error("{}: no run's folder, but there {} in it: name one of {}", run,
                    within.size() == 1 ? "is a run" : "are runs", some_of(within));
}

// The settings that the run was trained with, whatever a file of options says by now.
std::vector<std::string> arguments_of(const JsonValue& root, const DoctorOptions& o) {
  std::vector<std::string> left_out = unused_by_few_rows();
  for (const char* own : {"output_dir", "test_file", "threads", "memory"}) {
    left_out.emplace_back(own);
  }
  if (!o.device.empty()) left_out.emplace_back("device");
  JsonValue settings = root.at("settings");
  settings.require_object();
  std::vector<std::string> arguments;
  for (const auto& [name, value] : settings.json().items()) {
    bool is_left_out = std::find(left_out.begin(), left_out.end(), name) != left_out.end();
    if (is_left_out || value.is_null()) continue;
    std::string text = value.is_string() ? out_of_utf8(value.get<std::string>()) : value.dump();
    arguments.push_back(fmt::format("--{}={}", name, text));
  }
  arguments.push_back(fmt::format("--threads={}", o.threads));
  arguments.push_back("--memory=" + o.memory);
  if (!o.device.empty()) arguments.push_back("--device=" + o.device);
  arguments.push_back(fmt::format("--overfit={}", o.overfit));
  return arguments;
}

// A file of the same name where doctor is started is another one.
void enter_folder(const std::string& run, const JsonValue& root, const std::string& asked,
                  std::ostream& out) {
  std::string folder = asked;
  if (auto recorded = root.find("folder"); folder.empty() && recorded) {
    folder = out_of_utf8(recorded->text());
  }
  if (folder.empty()) {
    log_warning(
        "{}: it is not recorded where the run was started: relative paths are taken from "
        "here; --folder names another place",
        run);
    return;
  }
  std::error_code code;
  fs::current_path(folder, code);
  if (!code) {
    out << "  its paths are relative to " << printable(folder) << "\n";
    return;
  }
  throw error(
      "{}: the run's paths are relative to {}, and that is not there ({}): --folder=DIR "
      "names where its files are now",
      run, folder, code.message());
}

// Rows, vocabulary and first weights, as far as the record has them; the configuration is another, as
// few rows are fitted without dropout.
void warn_of_changes(const std::string& run, const Json& record, const TrainingJob& job) {
  RunRequest request = request_of(job);
  Json now = in_utf8({{"data", request.data}, {"task", request.task}, {"model", request.model}});
  Json before = Json::object();
  for (const auto& [name, part] : now.items()) before[name] = record.value(name, part);
  std::vector<std::string> changed =
      differences(before, now, {"model.config", "task.classifier_dropout"});
  if (changed.empty()) return;
  log_warning("{}: not as it was for the run, so that what follows may not be said of it:\n  {}",
              run, fmt::join(changed, "\n  "));
}

void run_doctor(Args args, std::ostream& out) {
  DoctorOptions o;
  if (wants_help(args)) return print_help(kDoctorCommand, o.each(), out);
  std::vector<std::string> runs = parse_options(args, o.each());
  if (runs.size() != 1) throw usage_error("doctor needs one path: the folder of a run");
  require_between("overfit", o.overfit, 0, kMostFewRows);
  const std::string& run = runs[0];
  Json record = read_record(run);
  JsonValue root(record, join_path(run, "run.json"));
  root.require_object();
  if (root.at("command").text() != "finetune") {
    throw usage_error("{}: a run of {}; doctor examines runs of finetune", run,
                      root.at("command").text());
  }
  auto finished = root.find("finished");
  out << run << ":\n";
  print_curve(read_curve(run), finished.has_value(), out);
  if (finished) {
    for (const auto& [name, score] : finished->at("results").at("scores").json().items()) {
      if (score.is_number()) out << fmt::format("  {} = {:.6g}\n", name, score.get<double>());
    }
  }
  if (o.overfit == 0) return;
  std::vector<std::string> again = arguments_of(root, o);
  enter_folder(run, root, o.folder, out);
  overfit(
      std::vector<std::string_view>(again.begin(), again.end()),
      [&](const TrainingJob& job) { warn_of_changes(run, record, job); }, out);
}

}  // namespace

const Command kDoctorCommand = {"doctor", "why a fine-tuning run does not learn",
                                "bertrain doctor topics\n"
                                "bertrain doctor topics --overfit=16 --threads=4",
                                run_doctor};

}  // namespace bertrain
