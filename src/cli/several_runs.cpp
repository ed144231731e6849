// Arguments for each run, and what their scores come to.
#include "cli/several_runs.h"

#include <cmath>
#include <ostream>

#include "base/error.h"
#include "base/log.h"
#include "storage/storage.h"
#include "task/table/layouts.h"

namespace bertrain {

Arguments with(std::span<const std::string_view> arguments, const Arguments& more) {
  Arguments all;
  for (std::string_view argument : arguments) {
    if (argument != "--") all.emplace_back(argument);  // after it nothing would be an option
  }
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Json run_seeds(std::span<const std::string_view> arguments, const std::string& output_dir,
               int64_t seed, int64_t runs, const RunOnce& run, std::ostream& out) {
  std::vector<Json> all;
  for (int64_t i = 0; i < runs; ++i) {
    int64_t number = seed + i;
    log_line("run {} of {}: seed {}", i + 1, runs, number);
    all.push_back(run(with(
        arguments, {"--runs=1", fmt::format("--seed={}", number),
                    "--output_dir=" + join_path(output_dir, fmt::format("seed-{}", number))})));
  }
  Json means = Json::object();
  if (all.front().empty()) return means;  // left before its end, as asked
  out << fmt::format("{} runs, seeds {} to {}\n", runs, seed, seed + runs - 1);
  for (const auto& [name, value] : all.front().items()) {
    if (!value.is_number()) continue;
    double sum = 0, squares = 0;
    for (const Json& scores : all) sum += scores.value(name, 0.0);
    double mean = sum / static_cast<double>(runs);
    for (const Json& scores : all) squares += std::pow(scores.value(name, 0.0) - mean, 2);
    means[name] = mean;
    out << fmt::format("{} = {:.6f} +- {:.6f}\n", name, mean,
                       std::sqrt(squares / static_cast<double>(runs - 1)));
  }
  return means;
}

void run_glue(std::span<const std::string_view> arguments, const std::string& output_dir,
              const std::string& data_dir, const RunOnce& run, std::ostream& out) {
  std::vector<const TableLayout*> there;
  for (const std::string& name : layout_names()) {
    const TableLayout* layout = find_layout(name);
    if (layout->folder.empty()) continue;
    std::string train = join_path(data_dir, layout->folder + "/" + layout->file("train").name);
    if (storage_for(train).size(train)) {
      there.push_back(layout);
    } else {
      log_warning("{} is not there: {} is left out", train, layout->folder);
    }
  }
  if (there.empty()) {
    throw usage_error("--data_dir={}: none of GLUE's folders is in it (CoLA, SST-2, MRPC, …)",
                      data_dir);
  }
  std::string table;
  double sum = 0;
  for (const TableLayout* layout : there) {
    log_line("GLUE: {}", layout->folder);
    Json scores = run(with(
        arguments, {"--task=" + layout->name, "--data_dir=" + join_path(data_dir, layout->folder),
                    "--output_dir=" + join_path(output_dir, layout->name)}));
    double mean = 0;
    table += fmt::format("{:<6}", layout->folder);
    for (const std::string& name : layout->scores) {
      auto score = scores.value(name, 0.0);
      mean += score / static_cast<double>(layout->scores.size());
      table += fmt::format("  {:.4f} {}", score, name);
    }
    table += "\n";
    sum += mean;
  }
  out << "\n" << table;
  out << fmt::format("mean of {} tasks (of a task its scores' mean) = {:.4f}\n", there.size(),
                     sum / static_cast<double>(there.size()));
}

}  // namespace bertrain
