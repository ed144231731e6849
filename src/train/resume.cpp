// Saving and restoring states.
#include "train/resume.h"

#include <cmath>
#include <filesystem>
#include <utility>

#include "base/checked_json.h"
#include "base/error.h"
#include "base/log.h"
#include "storage/disk_space.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

constexpr std::string_view kState = "state.safetensors", kPosition = "position.json",
                           kStep = "global_step";
constexpr uint64_t kMaxPosition = 1 << 20;  // a few numbers

Json read_position(const SavedState& saved) {
  std::string file = join_path(saved.directory, kPosition);
  Json position = parse_json(read_file_up_to(file, kMaxPosition), file);
  int64_t step = JsonValue(position, file).at("step").integer(0, INT64_MAX);
  if (step != saved.step)
    throw error("{}: the position of step {}, not {}", file, step, saved.step);
  return position;
}

// The last step that was evaluated, or the best; −1: none yet.
int64_t earlier_step(const JsonValue& position, const char* key, int64_t step) {
  std::optional<JsonValue> found = position.find(key);
  return found ? found->integer(-1, step) : -1;
}

// Scores of an evaluation; null where there was none.
Json scores_of(const JsonValue& position, const char* key) {
  std::optional<JsonValue> found = position.find(key);
  if (!found || found->is_null()) return nullptr;
  found->require_object();
  return found->json();
}

std::unique_ptr<CheckpointReader> open_state(const SavedState& saved) {
  return open_checkpoint(join_path(saved.directory, kState));
}

}  // namespace

RunCheckpoints::RunCheckpoints(const std::string& directory, State& state, int64_t keep,
                               BestRule rule)
    : directory_(directory), state_(state), store_(directory, keep), rule_(std::move(rule)) {}

bool RunCheckpoints::restore() {
  std::optional<SavedState> saved = store_.newest();
  if (!saved) {
    store_.clean();
    return false;
  }
  Json position = read_position(*saved);
  std::unique_ptr<CheckpointReader> reader = open_state(*saved);
  state_.load_all(*reader, {std::string(kStep)});
  step_ = saved_ = saved->step;
  JsonValue checked(position, join_path(saved->directory, kPosition));
  evaluated_ = earlier_step(checked, "evaluated", step_);
  scores_ = scores_of(checked, "scores");
  best_ = earlier_step(checked, "best", step_);
  best_scores_ = scores_of(checked, "best_scores");
  if (auto since = checked.find("since_best")) since_best_ = since->integer(0, INT64_MAX);
  if (best_ >= 0 && !rule_.metric.empty()) checked.at("best_scores").at(rule_.metric).number();
  if (best_ != step_) find_best();
  // Only now, as the state that is gone on from has proved to be of use.
  store_.go_on_from(step_);
  mark_best();
  return true;
}

// Before anything is cleaned, which removes what is not marked. A kill may leave the best state saved
// but not yet marked, and somebody may have removed or damaged the mark; the position names it, too.
void RunCheckpoints::mark_best() {
  if (best_ >= 0) return store_.set_best(best_);
  store_.forget_best();
  store_.clean();
}

void RunCheckpoints::judge(int64_t step, const Json& scores) {
  evaluated_ = step;
  scores_ = scores;
  auto score_in = [&](const Json& all) {
    auto found = all.find(rule_.metric);
    check(found != all.end(), "the metric that decides is one of the task's scores");
    // JSON has no NaN: a score that was none is null.
    return found->is_number() ? found->get<double>() : std::nan("");
  };
  double score = score_in(scores);
  ++since_best_;
  if (!std::isfinite(score)) return;
  if (best_ >= 0) {
    double best = score_in(best_scores_);
    if (rule_.higher ? score <= best : score >= best) return;
  }
  best_ = step;
  best_scores_ = scores;
  since_best_ = 0;
}

uint64_t RunCheckpoints::state_bytes() const {
  constexpr uint64_t kHeaders = 64 * 1024;  // and position.json
  return kHeaders + bytes_of(state_.types());
}

void RunCheckpoints::save(int64_t step) {
  if (std::optional<std::string> name = state_.first_not_finite()) {
    throw error(
        "step {}: {} holds NaN or an infinity, so it is not saved. {}. A lower --learning_rate or "
        "a longer warm-up helps where the data are sound",
        step, *name,
        saved_ < 0 ? "Nothing was saved"
                   : fmt::format("The last checkpoint is that of step {}", saved_));
  }
  try {
    StateStore::Pending pending = store_.begin(step);
    Named<ArrayType> types = state_.types();
    types.emplace(kStep, ArrayType{DType::i64, {}});
    auto writer = create_checkpoint(pending.file(kState), CheckpointFormat::safetensors, types);
    writer->write(kStep, scalar<int64_t>(step));
    state_.save(*writer);
    writer->commit();
    Json position = {{"step", step},  {"evaluated", evaluated_},   {"scores", scores_},
                     {"best", best_}, {"since_best", since_best_}, {"best_scores", best_scores_}};
    write_text(pending.file(kPosition), position.dump(2) + "\n");
    pending.complete();
  } catch (const Error& e) {
    std::string run = std::filesystem::path(directory_).parent_path().string();
    std::string before = saved_ < 0 ? "there is no earlier checkpoint"
                                    : fmt::format("the checkpoint of step {} is whole", saved_);
    throw error("saving step {} ({} bytes needed, {} free): {}; {}", step, state_bytes(),
                free_bytes(run), e.what(), before);
  }
  if (best_ == step) store_.set_best(step);
  saved_ = step;
}

// The state of the best step, whole. Somebody may have removed it to make room: the run then goes on
// without, as the newest state is sound and the steps until here would be lost.
std::optional<SavedState> RunCheckpoints::find_best() {
  if (best_ < 0) return std::nullopt;
  std::string reason = "it is gone";
  try {
    if (std::optional<SavedState> best = store_.state(best_)) {
      verify_state(*best);
      return best;
    }
  } catch (const Error& e) {
    reason = e.what();
    store_.spare(best_);  // perhaps it was only out of reach for a moment
  }
  log_warning(
      "{}: the state of the best step, {}, cannot be used: {}; that of step {} takes its "
      "place",
      directory_, best_, reason, saved_);
  best_ = -1;
  best_scores_ = nullptr;
  since_best_ = 0;
  bool scored = scores_.is_object() && scores_.contains(rule_.metric);
  if (evaluated_ == saved_ && scored) judge(evaluated_, scores_);
  return std::nullopt;
}

int64_t RunCheckpoints::load_best() {
  if (best_ == saved_) return saved_;
  std::optional<SavedState> best = find_best();
  if (!best) return saved_;
  std::unique_ptr<CheckpointReader> reader = open_state(*best);
  for (const Parameter& p : state_.parameters()) state_.set(p.name, reader->read(p.name));
  return best_;
}

}  // namespace bertrain
