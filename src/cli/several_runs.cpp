// Arguments for each run, and what their scores come to.
#include "cli/several_runs.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "base/error.h"
#include "base/log.h"
#include "storage/storage.h"
#include "task/table/layouts.h"

namespace bertrain {

namespace {

bool is_left(const Json& scores) { return scores.is_object() && scores.empty(); }

// GLUE's tasks whose folder is there.
std::vector<const TableLayout*> tasks_in(const std::string& data_dir) {
  std::vector<const TableLayout*> there;
  for (const std::string& name : layout_names()) {
    const TableLayout* layout = find_layout(name);
    if (layout->folder.empty()) continue;
    std::string train = join_path(data_dir, layout->folder + "/" + layout->file("train").name);
    if (exists(train)) {
      there.push_back(layout);
    } else {
      log_warning("{} is not there: {} is left out", train, layout->folder);
    }
  }
  if (there.empty()) {
    throw usage_error("--data_dir={}: none of GLUE's folders is in it (CoLA, SST-2, MRPC, …)",
                      data_dir);
  }
  return there;
}

// A task whose tables are not there may only be misplaced: its run is not removed for that.
void refuse_lost_task(const std::string& output_dir, const std::vector<std::string>& tasks) {
  for (const std::string& name : runs_below(output_dir)) {
    bool again = std::find(tasks.begin(), tasks.end(), name) != tasks.end();
    if (again || find_layout(name) == nullptr) continue;
    throw usage_error(
        "--overwrite would remove {}, the run of a task whose tables are not in --data_dir: put "
        "them there, or use another --output_dir",
        join_path(output_dir, name));
  }
}

}  // namespace

Arguments with(std::span<const std::string_view> arguments, const Arguments& more) {
  Arguments all;
  for (std::string_view argument : arguments) {
    if (argument != "--") all.emplace_back(argument);  // after it nothing would be an option
  }
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<std::string> Seeds::folders() const {
  std::vector<std::string> names;
  for (int64_t i = 0; i < runs; ++i) names.push_back(fmt::format("seed-{}", first + i));
  return names;
}

Arguments Seeds::arguments(std::span<const std::string_view> shared, int64_t run) const {
  std::string folder = fmt::format("seed-{}", first + run);
  return with(shared, {"--runs=1", fmt::format("--seed={}", first + run),
                       "--output_dir=" + join_path(flags.output_dir, folder)});
}

Json run_seeds(std::span<const std::string_view> arguments, const Seeds& seeds, Groups groups,
               const RunOnce& run, std::ostream& out) {
  RunGroup group(seeds.flags.output_dir, seeds.folders(), seeds.flags.overwrite);
  groups.push_back(&group);
  std::vector<Json> all;
  int64_t left = 0;
  for (int64_t i = 0; i < seeds.runs; ++i) {
    log_line("run {} of {}: seed {}", i + 1, seeds.runs, seeds.first + i);
    all.push_back(run(seeds.arguments(arguments, i), groups));
    left += is_left(all.back());
  }
  if (left > 0) {
    out << fmt::format("{} of {} runs were stopped before their end: there is no mean\n", left,
                       seeds.runs);
    return Json::object();
  }
  out << fmt::format("{} runs, seeds {} to {}\n", seeds.runs, seeds.first,
                     seeds.first + seeds.runs - 1);
  Json means;
  auto count = static_cast<double>(seeds.runs);
  for (const auto& [name, value] : all.front().items()) {
    if (!value.is_number()) continue;
    double sum = 0, squares = 0;
    for (const Json& scores : all) sum += scores.value(name, 0.0);
    double mean = sum / count;
    for (const Json& scores : all) squares += std::pow(scores.value(name, 0.0) - mean, 2);
    means[name] = mean;
    out << fmt::format("{} = {:.6f} +- {:.6f}\n", name, mean, std::sqrt(squares / (count - 1)));
  }
  if (means.is_null()) out << "nothing was evaluated\n";
  return means;
}

void run_glue(std::span<const std::string_view> arguments, const SharedFlags& flags,
              const std::string& data_dir, const CheckRun& check, const RunOnce& run,
              std::ostream& out) {
  std::vector<const TableLayout*> there = tasks_in(data_dir);
  std::vector<std::string> folders;
  for (const TableLayout* layout : there) folders.push_back(layout->name);
  if (flags.overwrite) refuse_lost_task(flags.output_dir, folders);
  RunGroup group(flags.output_dir, folders, flags.overwrite);
  auto arguments_of = [&](const TableLayout& layout) {
    return with(arguments,
                {"--task=" + layout.name, "--data_dir=" + join_path(data_dir, layout.folder),
                 "--output_dir=" + join_path(flags.output_dir, layout.name)});
  };
  for (const TableLayout* layout : there) {
    log_line("GLUE: checking {}", layout->folder);
    check(arguments_of(*layout), {&group});
  }
  std::string table;
  double sum = 0;
  size_t left = 0;
  for (const TableLayout* layout : there) {
    log_line("GLUE: {}", layout->folder);
    Json scores = run(arguments_of(*layout), {&group});
    table += fmt::format("{:<6}", layout->folder);
    if (is_left(scores)) {
      ++left;
      table += "  stopped before its end\n";
      continue;
    }
    double mean = 0;
    for (const std::string& name : layout->scores) {
      auto score = scores.value(name, 0.0);
      mean += score / static_cast<double>(layout->scores.size());
      table += fmt::format("  {:.4f} {}", score, name);
    }
    table += "\n";
    sum += mean;
  }
  out << "\n" << table;
  if (left > 0) {
    out << fmt::format("{} of {} tasks were stopped before their end: there is no mean\n", left,
                       there.size());
    return;
  }
  out << fmt::format("mean of {} tasks (of a task its scores' mean) = {:.4f}\n", there.size(),
                     sum / static_cast<double>(there.size()));
}

}  // namespace bertrain
