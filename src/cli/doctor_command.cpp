// The doctor command: why a fine-tuning run does not learn, by its record, its curve and a few rows.
#include "cli/doctor_command.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "base/checked_json.h"
#include "base/error.h"
#include "cli/finetune_command.h"
#include "cli/options.h"
#include "cli/run_metrics.h"
#include "storage/storage.h"
#include "train/run_directory.h"

namespace bertrain {
namespace {

constexpr int64_t kFewRows = 8;

EachOption no_options() {
  return [](OptionVisitor&) {};
}

struct Curve {
  std::vector<double> losses;
  double largest_rate = 0;
  uint64_t not_finite = 0;
};

Curve read_curve(const std::string& run) {
  Curve curve;
  read_metrics(run, "learning_rate", [&](const Json& entry) {
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

void print_curve(const Curve& curve, std::ostream& out) {
  constexpr size_t kEnds = 10;    // entries whose mean is the curve's beginning, or its end
  constexpr double kFell = 0.95;  // what is above it is noise
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

void run_doctor(Args args, std::ostream& out) {
  if (wants_help(args)) return print_help(kDoctorCommand, no_options(), out);
  std::vector<std::string> runs = parse_options(args, no_options());
  if (runs.size() != 1) throw usage_error("doctor needs one path: the folder of a run");
  std::string file = join_path(runs[0], "run.json");
  if (!storage_for(file).size(file)) {
    throw error("{}: no run's folder (there is no run.json)", runs[0]);
  }
  Json record = parse_json(read_file_up_to(file, kMaxRecord), file);
  JsonValue root(record, file);
  root.require_object();
  if (root.at("command").text() != "finetune") {
    throw usage_error("{}: a run of {}; doctor examines runs of finetune", runs[0],
                      root.at("command").text());
  }
  out << runs[0] << ":\n";
  print_curve(read_curve(runs[0]), out);
  if (auto finished = root.find("finished")) {
    for (const auto& [name, score] : finished->at("results").at("scores").json().items()) {
      if (score.is_number()) out << fmt::format("  {} = {:.6g}\n", name, score.get<double>());
    }
  }
  std::vector<std::string> again = root.at("arguments").texts();
  again.push_back(fmt::format("--overfit={}", kFewRows));
  kFinetuneCommand.run(std::vector<std::string_view>(again.begin(), again.end()), out);
}

}  // namespace

const Command kDoctorCommand = {"doctor", "why a fine-tuning run does not learn",
                                "bertrain doctor topics", run_doctor};

}  // namespace bertrain
