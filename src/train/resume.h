// The checkpoints of a run: what a later start goes on from, and which of them is the best model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "checkpoint/retention.h"
#include "train/state.h"

namespace bertrain {

// Which score decides, and how.
struct BestRule {
  std::string metric;  // "eval_accuracy"; empty: there are no evaluations
  bool higher = true;
};

// Each saved state holds state.safetensors (parameters, slots, global_step) and position.json (the
// step, the scores of that step's evaluation if there was one, the best step and its scores). The
// position in the data needs no more than the step: see training_batches.
class RunCheckpoints {
 public:
  RunCheckpoints(const std::string& directory, State& state, int64_t keep, BestRule rule);

  // Puts the newest complete state back; false where there is none. Throws Error when a state does
  // not fit the model. Where the best state is gone or damaged this is said, and the newest takes its
  // place until an evaluation is better.
  bool restore();

  int64_t step() const { return step_; }                 // that was restored; 0 at a new start
  int64_t saved_step() const { return saved_; }          // newest that is on disk; −1: none
  int64_t evaluated_step() const { return evaluated_; }  // last with scores; −1: none

  // Scores of the model as it is after `step`. A score that is not finite is never the best; of
  // equal ones the first stays.
  void judge(int64_t step, const Json& scores);
  bool is_best(int64_t step) const { return best_ == step; }
  int64_t evaluations_since_best() const { return since_best_; }  // none of them better
  void count_anew() { since_best_ = 0; }  // of a run that goes on under other settings

  // Saves the state as that of `step`. One with a value that is not finite is an Error that names the
  // tensor. Throws Error that names the folder, the bytes needed and those that are free; the states
  // saved before are as they were.
  void save(int64_t step);
  uint64_t state_bytes() const;  // of one saved state, nearly

  int64_t best_step() const { return best_; }  // −1: no evaluation yet
  const Json& best_scores() const { return best_scores_; }
  // Puts the parameters of the best state back, or leaves the newest where none was evaluated or the
  // best is gone (which is said). Returns the step whose model it is.
  int64_t load_best();

 private:
  std::optional<SavedState> find_best();
  void mark_best();

  std::string directory_;
  State& state_;
  StateStore store_;
  BestRule rule_;
  int64_t step_ = 0, saved_ = -1, evaluated_ = -1, best_ = -1, since_best_ = 0;
  Json scores_, best_scores_;
};

}  // namespace bertrain
