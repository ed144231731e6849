// Saved states: written aside, completed by a marker, verified before use, thinned out by number.
#include "checkpoint/retention.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "base/array.h"
#include "base/checked_json.h"
#include "base/error.h"
#include "base/log.h"
#include "formats/crc32c.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStep = "step-", kMarker = "complete.json", kBest = "best.json";
constexpr uint64_t kMaxJson = 16 << 20;  // of a marker or best.json
constexpr size_t kPiece = 4 << 20;       // bytes read at a time for a checksum

bool is_local(std::string_view uri) { return uri.find("://") == std::string_view::npos; }

std::string step_directory(const std::string& directory, int64_t step) {
  return join_path(directory, fmt::format("{}{}", kStep, step));
}

// "step-20" → 20; nullopt for names that begin() does not give ("step-020", "step-+1").
std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kStep)) return std::nullopt;
  std::string_view digits = name.substr(kStep.size());
  int64_t step = 0;
  auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (failure != std::errc() || std::to_string(step) != digits || step < 0) return std::nullopt;
  return step;
}

// Every step that has any trace in the directory, files that storage hides included.
std::set<int64_t> steps_in(const std::string& directory) {
  std::set<int64_t> steps;
  std::string start = join_path(directory, "");
  for (const Object& o : storage_for(directory).list(join_path(directory, kStep))) {
    std::string_view rest = std::string_view(o.uri).substr(start.size());
    if (auto step = step_of(rest.substr(0, rest.find('/')))) steps.insert(*step);
  }
  if (is_local(directory)) {
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(directory, absent)) {
      if (auto step = step_of(entry.path().filename().string())) steps.insert(*step);
    }
  }
  return steps;
}

// The marker goes first: whatever happens in between, no incomplete state looks complete.
void remove_step(const std::string& directory) {
  Storage& storage = storage_for(directory);
  storage.remove(join_path(directory, kMarker));
  for (const Object& o : storage.list(join_path(directory, ""))) storage.remove(o.uri);
  if (is_local(directory)) {
    std::error_code ignored;  // what is left over is an empty folder or a file in the making
    fs::remove_all(directory, ignored);
  }
}

bool is_complete(const std::string& directory) {
  std::string marker = join_path(directory, kMarker);
  return storage_for(marker).size(marker).has_value();
}

uint32_t crc_of_file(const std::string& uri, uint64_t bytes) {
  std::vector<std::byte> piece(std::min<uint64_t>(bytes, kPiece));
  uint32_t crc = 0;
  for (uint64_t done = 0; done < bytes;) {
    auto part = std::span(piece).first(std::min<uint64_t>(bytes - done, piece.size()));
    storage_for(uri).read(uri, done, part);
    crc = crc32c(part, crc);
    done += part.size();
  }
  return crc;
}

Json read_json(const std::string& uri) { return parse_json(read_file_up_to(uri, kMaxJson), uri); }

void write_marker(int64_t step, const std::string& directory) {
  std::string start = join_path(directory, "");
  Json files = Json::array();
  for (const Object& o : storage_for(directory).list(start)) {
    files.push_back({{"name", o.uri.substr(start.size())},
                     {"bytes", o.bytes},
                     {"crc32c", crc_of_file(o.uri, o.bytes)}});
  }
  Json marker = {{"step", step}, {"files", files}};
  write_text(join_path(directory, kMarker), marker.dump(1) + "\n");
}

}  // namespace

void verify_state(const SavedState& state) {
  std::string marker = join_path(state.directory, kMarker);
  Json json = read_json(marker);
  std::vector<JsonValue> files = JsonValue(json, marker).at("files").items();
  if (files.empty()) throw error("{}: damaged: it lists no file", marker);
  for (const JsonValue& file : files) {
    std::string uri = join_path(state.directory, file.at("name").text());
    auto bytes = static_cast<uint64_t>(file.at("bytes").integer(0, INT64_MAX));
    auto crc = static_cast<uint64_t>(file.at("crc32c").integer(0, UINT32_MAX));
    std::optional<uint64_t> found = storage_for(uri).size(uri);
    if (!found) throw error("{}: missing: expected {} bytes", uri, bytes);
    if (*found != bytes) throw error("{}: expected {} bytes, found {}", uri, bytes, *found);
    if (crc_of_file(uri, bytes) != crc) throw error("{}: damaged: its checksum does not hold", uri);
  }
}

StateStore::StateStore(std::string_view directory, int64_t keep)
    : directory_(directory), keep_(keep) {
  check(keep >= 1, "a run keeps one saved state at least");
}

StateStore::Pending::Pending(StateStore& store, int64_t step, std::string directory)
    : store_(&store), step_(step), directory_(std::move(directory)) {}

StateStore::Pending::Pending(Pending&& other) noexcept
    : store_(other.store_), step_(other.step_), directory_(std::move(other.directory_)) {
  other.store_ = nullptr;
}

StateStore::Pending::~Pending() {
  if (!store_) return;
  try {
    remove_step(directory_);
  } catch (const std::exception&) {
    // Without its marker it counts as absent; the next clean() tries again.
  }
}

std::string StateStore::Pending::file(std::string_view name) const {
  return join_path(directory_, name);
}

void StateStore::Pending::complete() {
  check(store_ != nullptr, "a state is completed once");
  write_marker(step_, directory_);
  StateStore* store = store_;
  store_ = nullptr;
  store->clean(step_);
}

std::optional<SavedState> StateStore::state(int64_t step) const {
  std::string directory = step_directory(directory_, step);
  if (!is_complete(directory)) return std::nullopt;
  return SavedState{step, std::move(directory)};
}

StateStore::Pending StateStore::begin(int64_t step) {
  std::string directory = step_directory(directory_, step);
  remove_step(directory);
  return Pending(*this, step, std::move(directory));
}

std::vector<SavedState> StateStore::states() const {
  std::vector<SavedState> states;
  for (int64_t step : steps_in(directory_)) {
    std::string directory = step_directory(directory_, step);
    if (is_complete(directory)) states.push_back({step, std::move(directory)});
  }
  return states;
}

std::optional<SavedState> StateStore::newest() const {
  std::vector<SavedState> all = states();
  std::string reason;
  for (auto state = all.rbegin(); state != all.rend(); ++state) {
    try {
      verify_state(*state);
      if (!reason.empty()) {
        log_warning("{}; going back to the state of step {}", reason, state->step);
      }
      return *state;
    } catch (const Error& e) {
      if (!reason.empty()) log_warning(reason);
      reason = fmt::format("the saved state of step {} is not used: {}", state->step, e.what());
    }
  }
  if (!reason.empty()) {
    throw error(
        "{0}: no saved state is whole: {1}; put a sound copy back, or remove {0} to begin the run "
        "again",
        directory_, reason);
  }
  return std::nullopt;
}

void StateStore::set_best(int64_t step) {
  check(is_complete(step_directory(directory_, step)), "the best state must be a complete one");
  if (std::optional<SavedState> marked = best(); !marked || marked->step != step) {
    write_text(join_path(directory_, kBest), Json{{"step", step}}.dump() + "\n");
  }
  best_ = step;
  clean();
}

void StateStore::spare(int64_t step) { spared_.insert(step); }

void StateStore::forget_best() {
  storage_for(directory_).remove(join_path(directory_, kBest));
  best_.reset();
}

std::optional<SavedState> StateStore::best() const {
  std::string uri = join_path(directory_, kBest);
  if (!storage_for(uri).size(uri)) return std::nullopt;
  try {
    Json json = read_json(uri);
    return state(JsonValue(json, uri).at("step").integer(0, INT64_MAX));
  } catch (const Error& e) {
    log_warning("{}; it is not used", e.what());
    return std::nullopt;
  }
}

void StateStore::go_on_from(int64_t step) {
  for (int64_t later : steps_in(directory_)) {
    if (later > step) remove_step(step_directory(directory_, later));
  }
}

void StateStore::clean() { clean(std::nullopt); }

void StateStore::clean(std::optional<int64_t> always) {
  std::vector<SavedState> complete = states();
  std::set<int64_t> kept;
  if (always) kept.insert(*always);
  for (size_t i = complete.size(); i-- > 0 && kept.size() < static_cast<size_t>(keep_);) {
    kept.insert(complete[i].step);
  }
  if (best_) {
    kept.insert(*best_);
  } else if (auto state = best()) {
    kept.insert(state->step);
  }
  kept.insert(spared_.begin(), spared_.end());
  for (int64_t step : steps_in(directory_)) {
    if (!kept.contains(step)) remove_step(step_directory(directory_, step));
  }
}

}  // namespace bertrain
