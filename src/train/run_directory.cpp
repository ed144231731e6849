// run.json, log.txt, and whether a start may go on with what an earlier one left.
#include "train/run_directory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/checked_json.h"
#include "base/differences.h"
#include "base/error.h"
#include "base/log.h"
#include "storage/storage.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVersion = "0.1.0";

// What a run leaves behind, and so what --overwrite removes, folder by folder and, where a name ends
// in *, all names that begin so; anything else in the folders is not ours.
struct Ours {
  std::string_view folder;
  std::vector<std::string_view> names;
};
const std::vector<Ours>& ours() {
  static const std::vector<Ours> all = {
      {"checkpoints", {"best.json", "step-*"}},
      {"tensorboard/train", {"events.out.tfevents.*"}},
      {"tensorboard/eval", {"events.out.tfevents.*"}},
      {"tensorboard", {}},
      {"model",
       {"config.json", "vocab.txt", "vocab.json", "merges.txt", "tokenizer.json",
        "tokenizer_config.json", "special_tokens_map.json", "bertrain.json", "model.safetensors"}},
      {"submission",
       {"CoLA.tsv", "SST-2.tsv", "MRPC.tsv", "STS-B.tsv", "QQP.tsv", "MNLI-m.tsv", "MNLI-mm.tsv",
        "QNLI.tsv", "RTE.tsv", "WNLI.tsv"}},
      {"",
       {"run.json", "runs.json", "log.txt", "metrics.jsonl", "test_predictions.jsonl",
        "test_predictions.conll"}}};
  return all;
}

bool is_ours(const Ours& part, std::string_view name) {
  return std::any_of(part.names.begin(), part.names.end(), [&](std::string_view known) {
    return known.ends_with('*') ? name.starts_with(known.substr(0, known.size() - 1))
                                : name == known;
  });
}

// Calls `act` with each path there that is ours, folders that are ours last.
void each_of_ours(const std::string& run, const std::function<void(const fs::path&)>& act) {
  for (const Ours& part : ours()) {
    fs::path folder = part.folder.empty() ? fs::path(run) : fs::path(run) / part.folder;
    std::error_code none;
    std::vector<fs::path> found;
    for (fs::directory_iterator entry(folder, none), end; !none && entry != end;
         entry.increment(none)) {
      if (is_ours(part, entry->path().filename().string())) found.push_back(entry->path());
    }
    std::sort(found.begin(), found.end());
    for (const fs::path& path : found) act(path);
  }
}

// A usage error where one of the files that are read is among what would be removed.
void refuse_removing(const std::string& folder, const std::vector<std::string>& inputs) {
  std::error_code none;
  std::string run = fs::weakly_canonical(folder, none).string();
  each_of_ours(folder, [&](const fs::path& path) {
    std::string doomed = fs::weakly_canonical(path, none).string();
    for (const std::string& input : inputs) {
      if (input.empty() || input == "-") continue;
      std::string file = fs::weakly_canonical(input, none).string();
      // A checkpoint may be named by what the names of its files begin with, or by its folder.
      bool around = file.starts_with(run + "/") &&
                    (doomed.starts_with(file + "/") || doomed.starts_with(file + "."));
      if (file != doomed && !file.starts_with(doomed + "/") && !around) continue;
      throw usage_error(
          "{} is read, and --overwrite would remove {}: copy it out of {}, or use another "
          "--output_dir",
          input, path.string(), folder);
    }
  });
}

uint64_t bytes_of_run(const std::string& folder) {
  uint64_t bytes = 0;
  each_of_ours(folder, [&](const fs::path& path) {
    std::error_code none;
    if (fs::is_regular_file(path, none)) bytes += fs::file_size(path, none);
    for (fs::recursive_directory_iterator entry(path, none), end; !none && entry != end;
         entry.increment(none)) {
      if (entry->is_regular_file(none)) bytes += entry->file_size(none);
    }
  });
  return bytes;
}

void remove_run(const std::string& folder) {
  each_of_ours(folder, [](const fs::path& path) {
    std::error_code code;
    fs::remove_all(path, code);
    if (code) throw error("--overwrite: removing {}: {}", path.string(), code.message());
  });
  for (const Ours& part : ours()) {
    std::error_code ignored;  // a folder that holds files of others stays
    if (!part.folder.empty()) fs::remove(fs::path(folder) / part.folder, ignored);
  }
}

Json read_record(const std::string& file) {
  try {
    Json record = parse_json(read_file_up_to(file, kMaxRecord), file);
    JsonValue checked(record, file);
    checked.at("settings").require_object();
    if (auto chosen = checked.find("chosen")) chosen->require_object();
    if (auto starts = checked.find("starts")) starts->items();
    if (auto finished = checked.find("finished")) finished->at("step").integer(0, INT64_MAX);
    return record;
  } catch (const Error& e) {
    throw error(
        "{}\nthis is not the record of a run; --overwrite removes what is there, or use "
        "another --output_dir",
        e.what());
  }
}

std::string text_in_utf8(const std::string& text) {
  // A text that looks like one of these is written as they are, or two names would be one.
  if (!find_invalid_utf8(text) && text.find("\\x") == std::string::npos) return text;
  std::string result;
  for (std::string_view rest = text; !rest.empty();) {
    Decoded next = decode_utf8(rest);
    for (char c : rest.substr(0, next.bytes)) {
      if (!next.valid) {
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      } else {
        result += c == '\\' ? "\\\\" : std::string(1, c);
      }
    }
    rest.remove_prefix(next.bytes);
  }
  return result;
}

// The parts of a record that two starts of a run share.
constexpr const char* kCompared[] = {"command", "settings", "task", "data", "model"};

// As run.json holds them.
Json compared(const RunRequest& request) {
  return in_utf8({{"command", request.command},
                  {"settings", request.settings},
                  {"task", request.task},
                  {"data", request.data},
                  {"model", request.model}});
}

// What decides the shapes of a run's weights and slots: between two runs of which that is not the same
// no checkpoint is of use.
Json shapes(const Json& compared) {
  auto within = [](const Json& json, const char* name) {
    return json.is_object() && json.contains(name) ? json[name] : Json();
  };
  Json result = {within(compared, "command"), within(within(compared, "task"), "labels").size(),
                 within(within(compared, "settings"), "freeze")};  // frozen parts have no slots
  Json config = within(within(compared, "model"), "config");
  for (const char* size : {"vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size",
                           "max_position_embeddings", "type_vocab_size"}) {
    result.push_back(within(config, size));
  }
  return result;
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

Json in_utf8(const Json& json) {
  if (json.is_string()) return text_in_utf8(json.get_ref<const std::string&>());
  if (!json.is_structured()) return json;
  Json result = json.is_array() ? Json::array() : Json::object();
  for (const auto& [key, value] : json.items()) {
    if (json.is_array()) {
      result.push_back(in_utf8(value));
    } else {
      result[text_in_utf8(key)] = in_utf8(value);
    }
  }
  return result;
}

std::string out_of_utf8(const std::string& text) {
  if (text.find("\\x") == std::string::npos) return text;
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
    } else if (text[++i] != 'x') {
      result += text[i];
    } else {
      unsigned byte = 0;
      const char* digits = text.data() + i + 1;
      std::from_chars(digits, std::min(digits + 2, text.data() + text.size()), byte, 16);
      result += static_cast<char>(byte);
      i += 2;
    }
  }
  return result;
}

RunDirectory::Folder::Folder(const std::string& where) : path(without_slashes(where)) {
  if (path.empty()) throw usage_error("--output_dir is needed: the folder of the run");
  storage_for(path);  // an error for buckets, which would be local folders of odd names
  if (!is_local(path))
    throw usage_error("--output_dir={}: a folder of this machine expected", path);
  std::error_code code;
  for (fs::path p = path; !p.empty() && !fs::exists(p, code); p = p.parent_path()) {
    created.push_back(p.string());
    if (p == p.parent_path()) break;
  }
  fs::create_directories(path, code);
  if (!code) return;
  remove_created();
  throw error("--output_dir={}: {}", path, code.message());
}

RunDirectory::Folder::~Folder() { remove_created(); }

void RunDirectory::Folder::remove_created() {
  std::error_code ignored;
  for (const std::string& folder : created) {
    fs::remove(folder, ignored);  // does nothing to a folder that is not empty
  }
}

RunDirectory::RunDirectory(const std::string& path, Resume resume, bool overwrite)
    : folder_(path), path_(folder_.path), resume_(resume) {
  lock_ = std::make_unique<RunLock>(path_);
  if (overwrite && fs::exists(file("run.json"))) {
    replaces_ = true;
    sink_ = std::make_unique<LogSink>([this](std::string_view line) { note(line); });
    return;
  }
  if (fs::exists(file("run.json"))) {
    record_ = read_record(file("run.json"));
    if (resume_ == Resume::never) {
      throw error("{} holds a run and --resume=never was asked; --overwrite removes it", path_);
    }
  } else if (resume_ == Resume::require) {
    throw error("{} holds no run to go on with (--resume=require)", path_);
  } else if (fs::exists(file("checkpoints")) || fs::exists(file("model"))) {
    throw error(
        "{} holds a model or checkpoints but no run.json, so that it is not known to be a run's; "
        "use another --output_dir, or remove them",
        path_);
  }
  had_log_ = fs::exists(file("log.txt"));
  open_log();
  sink_ = std::make_unique<LogSink>([this](std::string_view line) { note(line); });
}

RunDirectory::~RunDirectory() {
  sink_.reset();
  log_.close();
  // A start that failed before it began leaves nothing: preflight is free of consequences.
  std::error_code ignored;
  if (record_.is_null() && !replaces_ && !had_log_) fs::remove(file("log.txt"), ignored);
}

void RunDirectory::open_log() {
  log_.open(file("log.txt"), std::ios::app);
  if (!log_) throw error("{}: {}", file("log.txt"), std::strerror(errno));
}

std::string RunDirectory::file(std::string_view name) const { return join_path(path_, name); }

void RunDirectory::keep_inputs(const std::vector<std::string>& inputs) const {
  for (const std::string& run : replaced()) refuse_removing(run, inputs);
}

uint64_t RunDirectory::replaced_bytes() const {
  uint64_t bytes = 0;
  for (const std::string& run : replaced()) bytes += bytes_of_run(run);
  return bytes;
}

std::vector<std::string> RunDirectory::replaced() const {
  std::vector<std::string> runs = others_;
  if (replaces_) runs.push_back(path_);
  return runs;
}

void RunDirectory::replace_also(std::vector<std::string> runs, std::function<void()> then) {
  for (std::string& run : runs) {
    other_locks_.push_back(std::make_unique<RunLock>(run));
    others_.push_back(std::move(run));
  }
  then_.push_back(std::move(then));
}

void RunDirectory::remove_others() {
  if (!others_.empty()) log_line("--overwrite: removing what was in {}", fmt::join(others_, ", "));
  for (const std::string& run : others_) remove_run(run);
  other_locks_.clear();  // each has a file in its folder
  for (const std::string& run : others_) {
    std::error_code ignored;  // a folder that holds files of others stays
    fs::remove(run, ignored);
  }
  others_.clear();
}

void RunDirectory::remove_earlier() {
  remove_run(path_);
  replaces_ = false;
  open_log();
  log_ << waiting_;
  waiting_.clear();
  log_.flush();
}

bool RunDirectory::compare(const RunRequest& request) const {
  if (!continues()) return true;
  Json before = Json::object(), now = compared(request);
  for (const char* name : kCompared) {
    // What the version of the first start did not record yet is taken to be the same.
    auto part = record_.find(name);
    before[name] = part == record_.end() ? now[name] : *part;
  }
  // By their whole place: a data file, too, may be called "memory".
  std::vector<std::string> neutral;
  for (const std::string& name : request.neutral) neutral.push_back("settings." + name);
  std::string list;
  for (const std::string& line : differences(before, now, neutral)) {
    list += "\n  " + line;
  }
  if (list.empty()) return true;
  std::string reason = "the run there was started with other settings:" + list;
  if (shapes(before) == shapes(now)) {
    inexact(reason);
    return false;
  }
  throw error(
      "{}: {}\nits checkpoints do not fit that model: use another --output_dir, where a run may "
      "start from the model of this one (--init_checkpoint={}), or --overwrite (removes that run)",
      path_, reason, path_);
}

void RunDirectory::start(const RunRequest& request, const Json& choices) {
  remove_others();
  if (replaces_) remove_earlier();
  for (const std::function<void()>& act : then_) act();
  Json earlier = record_;
  if (!continues()) {
    record_ = {{"bertrain", kVersion}, {"chosen", Json::object()}, {"starts", Json::array()}};
  }
  Json now = compared(request);
  for (auto& [name, value] : now.items()) record_[name] = value;
  for (const auto& [name, value] : choices.items()) record_["chosen"][name] = value;
  record_.erase("finished");
  record_["arguments"] = in_utf8(Json(request.arguments));
  record_["folder"] = in_utf8(Json(fs::current_path().string()));
  record_["starts"].push_back(utc_time());
  try {
    save();
  } catch (const Error&) {
    record_ = std::move(earlier);  // a run that could not be written down has not begun
    throw;
  }
}

std::optional<JsonValue> RunDirectory::chosen(std::string_view name) const {
  if (record_.is_null() || !record_.contains("chosen")) return std::nullopt;
  return JsonValue(record_["chosen"], file("run.json"), "chosen").find(name);
}

void RunDirectory::inexact(std::string_view reason) const {
  if (resume_ == Resume::inexact) {
    log_warning("{}: going on with other results than an unbroken run (--resume=inexact): {}",
                path_, reason);
    return;
  }
  // With as many steps as are done nothing is left to go on with.
  bool at_end = finished_step() && !stopped_early();
  throw error(
      "{}: {}\nuse another --output_dir, --overwrite (removes that run), or --resume=inexact{} "
      "(goes on from its last checkpoint)",
      path_, reason, at_end ? " with more --num_train_steps" : "");
}

void RunDirectory::finish(int64_t step, const Json& results) {
  record_["finished"] = {{"step", step}, {"time", utc_time()}, {"results", results}};
  save();
}

std::optional<int64_t> RunDirectory::finished_step() const {
  if (!continues() || !record_.contains("finished")) return std::nullopt;
  return JsonValue(record_["finished"], file("run.json"), "finished")
      .at("step")
      .integer(0, INT64_MAX);
}

Json RunDirectory::finished_results() const {
  JsonValue finished(record_["finished"], file("run.json"), "finished");
  std::optional<JsonValue> results = finished.find("results");
  if (!results) return Json::object();
  if (auto step = results->find("last_step")) step->integer(0, INT64_MAX);
  return results->json();
}

bool RunDirectory::stopped_early() const {
  std::optional<int64_t> asked = finished_step();
  return asked && finished_results().value("last_step", *asked) < *asked;
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
    if (replaces_) {
      waiting_ += fmt::format("{} {}\n", time, text.substr(0, end));
    } else {
      log_ << time << ' ' << text.substr(0, end) << '\n';
    }
    if (end == text.size() || end + 1 == text.size()) break;
    text.remove_prefix(end + 1);
  }
  if (log_.is_open() && log_.flush()) return;
  if (!log_.is_open()) return;
  // The run goes on, as its result is not in there; said once, and tried again with each line.
  if (!log_failed_) {
    log_alone(
        fmt::format("warning: {}: lines are missing: {}", file("log.txt"), std::strerror(errno)));
  }
  log_failed_ = true;
  log_.clear();
}

void RunDirectory::save() const {
  write_text(file("run.json"), record_.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace bertrain
