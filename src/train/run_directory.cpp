// run.json, log.txt, and whether a start may go on with what an earlier one left.
#include "train/run_directory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/error.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVersion = "0.1.0";

// What a run leaves behind, and so what --overwrite removes; anything else in the folder is not
// ours.
constexpr std::array<std::string_view, 6> kOurs = {"run.json",    "log.txt",     "metrics.jsonl",
                                                   "tensorboard", "checkpoints", "model"};

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= 200 ? text : text.substr(0, 200) + "…";
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void compare(const Json* before, const Json* now, const std::string& place,
             const std::vector<std::string>& neutral, std::vector<std::string>& found) {
  bool objects = (!before || before->is_object()) && (!now || now->is_object()) && (before || now);
  if (!objects) {
    if (before && now && *before == *now) return;
    found.push_back(fmt::format("{}: {} before, {} now", place, before ? shown(*before) : "nothing",
                                now ? shown(*now) : "nothing"));
    return;
  }
  auto part = [&](const std::string& name) {
    if (contains(neutral, name)) return;
    const Json* b = before && before->contains(name) ? &(*before)[name] : nullptr;
    const Json* n = now && now->contains(name) ? &(*now)[name] : nullptr;
    compare(b, n, place.empty() ? name : place + "." + name, neutral, found);
  };
  if (now) {
    for (const auto& [name, value] : now->items()) part(name);
  }
  if (before) {
    for (const auto& [name, value] : before->items()) {
      if (!now || !now->contains(name)) part(name);
    }
  }
}

Json read_record(const std::string& file) {
  Json record = Json::parse(read_text(file), nullptr, false);
  if (!record.is_object() || !record.contains("settings")) {
    throw error("{}: not the record of a run; remove the folder, or use another --output_dir",
                file);
  }
  return record;
}

// The parts of a record that two starts of a run share.
constexpr const char* kCompared[] = {"command", "settings", "task", "data"};

Json compared(const RunRequest& request) {
  return {{"command", request.command},
          {"settings", request.settings},
          {"task", request.task},
          {"data", request.data}};
}

Json part_of(const Json& record, std::string_view name) {
  auto part = record.find(name);
  return part == record.end() ? Json::object() : *part;
}

}  // namespace

Resume parse_resume(std::string_view text) {
  if (text == "auto") return Resume::automatic;
  if (text == "never") return Resume::never;
  if (text == "require") return Resume::require;
  if (text == "inexact") return Resume::inexact;
  throw usage_error("--resume={}: auto, never, require or inexact expected", text);
}

std::string utc_time() {
  std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::vector<std::string> differences(const Json& before, const Json& now,
                                     const std::vector<std::string>& neutral) {
  std::vector<std::string> found;
  compare(&before, &now, "", neutral, found);
  return found;
}

RunDirectory::Folder::Folder(std::string where) : path(std::move(where)) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (path.empty()) throw usage_error("--output_dir is needed: the folder of the run");
  std::error_code code;
  created = fs::create_directories(path, code);
  if (code) throw error("--output_dir={}: {}", path, code.message());
}

RunDirectory::Folder::~Folder() {
  std::error_code ignored;
  if (created) fs::remove(path, ignored);  // does nothing to a folder that is not empty
}

RunDirectory::RunDirectory(std::string path, Resume resume, bool overwrite)
    : folder_(std::move(path)), path_(folder_.path), resume_(resume) {
  lock_ = std::make_unique<RunLock>(path_);
  if (overwrite) remove_earlier();
  if (fs::exists(file("run.json"))) {
    record_ = read_record(file("run.json"));
    if (resume_ == Resume::never) {
      throw error("{} holds a run and --resume=never was asked; --overwrite removes it", path_);
    }
  } else if (resume_ == Resume::require) {
    throw error("{} holds no run to go on with (--resume=require)", path_);
  } else if (fs::exists(file("checkpoints")) || fs::exists(file("model"))) {
    throw error(
        "{} holds a model or checkpoints but no run.json; use another --output_dir, or --overwrite",
        path_);
  }
  log_.open(file("log.txt"), std::ios::app);
  if (!log_) throw error("{}: {}", file("log.txt"), std::strerror(errno));
  sink_ = std::make_unique<LogSink>([this](std::string_view line) { note(line); });
}

RunDirectory::~RunDirectory() {
  sink_.reset();
  log_.close();
  // A start that failed before it began leaves nothing: preflight is free of consequences.
  std::error_code ignored;
  if (record_.is_null()) fs::remove(file("log.txt"), ignored);
}

std::string RunDirectory::file(std::string_view name) const { return join_path(path_, name); }

void RunDirectory::remove_earlier() const {
  for (std::string_view name : kOurs) {
    std::error_code code;
    fs::remove_all(file(name), code);
    if (code) throw error("--overwrite: removing {}: {}", file(name), code.message());
  }
}

void RunDirectory::compare(const RunRequest& request) const {
  if (!continues()) return;
  Json before = Json::object();
  for (const char* name : kCompared) before[name] = part_of(record_, name);
  std::string list;
  for (const std::string& line : differences(before, compared(request), request.neutral)) {
    list += "\n  " + line;
  }
  if (!list.empty()) inexact("the run there was started with other settings:" + list);
}

void RunDirectory::start(const RunRequest& request) {
  if (!continues()) {
    record_ = {{"bertrain", kVersion}, {"chosen", Json::object()}, {"starts", Json::array()}};
  }
  Json now = compared(request);
  for (auto& [name, value] : now.items()) record_[name] = value;
  record_.erase("finished");
  record_["arguments"] = request.arguments;
  record_["starts"].push_back(utc_time());
  save();
}

const Json* RunDirectory::chosen(std::string_view name) const {
  if (record_.is_null() || !record_.contains("chosen")) return nullptr;
  const Json& all = record_["chosen"];
  auto one = all.find(name);
  return one == all.end() ? nullptr : &*one;
}

void RunDirectory::choose(std::string_view name, Json value) {
  check(!record_.is_null(), "a run chooses after its start");
  if (const Json* before = chosen(name); before && *before == value) return;
  record_["chosen"][std::string(name)] = std::move(value);
  save();
}

void RunDirectory::inexact(std::string_view reason) const {
  if (resume_ == Resume::inexact) {
    log_warning("{}: going on with other results than an unbroken run (--resume=inexact): {}",
                path_, reason);
    return;
  }
  throw error(
      "{}: {}\nuse another --output_dir, --overwrite (removes that run), or --resume=inexact (goes "
      "on from its "
      "last checkpoint)",
      path_, reason);
}

void RunDirectory::finish(int64_t step, const Json& results) {
  record_["finished"] = {{"step", step}, {"time", utc_time()}, {"results", results}};
  save();
}

std::optional<int64_t> RunDirectory::finished_step() const {
  if (!continues() || !record_.contains("finished")) return std::nullopt;
  return record_["finished"].value("step", int64_t{0});
}

void RunDirectory::logged(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& e) {
    note(e.what());
    throw;
  }
}

void RunDirectory::note(std::string_view text) {
  std::string time = utc_time();
  while (true) {
    size_t end = std::min(text.find('\n'), text.size());
    log_ << time << ' ' << text.substr(0, end) << '\n';
    if (end == text.size() || end + 1 == text.size()) break;
    text.remove_prefix(end + 1);
  }
  log_.flush();
}

void RunDirectory::save() const {
  write_text(file("run.json"), record_.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace bertrain
