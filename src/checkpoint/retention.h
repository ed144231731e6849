// The saved states of a run: each is whole or not there; the newest and the best stay.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

struct SavedState {
  int64_t step = 0;
  std::string directory;  // DIR/step-20; its files are join_path(directory, name)
};

// DIR/step-N/… holds the files of step N, and last of all DIR/step-N/complete.json, which lists
// their names, sizes and CRC-32C: without it a state counts as absent. DIR/best.json names the best
// step. One process at a time may write (the run's lock sees to that).
class StateStore {
 public:
  // Keeps the `keep` newest states (1 at least) and the best one.
  StateStore(std::string_view directory, int64_t keep);

  // A state being saved: write its files below directory(), by any means, then complete(). A
  // destructor without complete() removes them.
  class Pending {
   public:
    Pending(Pending&& other) noexcept;
    Pending& operator=(Pending&&) = delete;
    ~Pending();
    const std::string& directory() const { return directory_; }
    std::string file(std::string_view name) const;
    // Reads every file back for its checksum, publishes complete.json, then removes what need not
    // be kept.
    void complete();

   private:
    friend class StateStore;
    Pending(StateStore& store, int64_t step, std::string directory);
    StateStore* store_;  // null: completed or moved from
    int64_t step_;
    std::string directory_;
  };
  Pending begin(int64_t step);  // what is there of that step is removed first

  std::vector<SavedState> states() const;               // complete ones, by ascending step number
  std::optional<SavedState> state(int64_t step) const;  // if it is complete
  // The newest state whose files all have the sizes and checksums that complete.json lists. A
  // broken one is warned of, naming the file and what is wrong, and the one before it is tried.
  // nullopt: there is none. Throws Error when there are states, but every one is broken.
  std::optional<SavedState> newest() const;
  // The run goes on from that step (0: from the start): states of later steps count no more, since
  // they are broken or will be saved again. They are removed, so that what is saved from now on is
  // the newest.
  void go_on_from(int64_t step);

  void set_best(int64_t step);  // of a complete state, which is kept from now on
  void spare(int64_t step);     // stays while this store lives, though it may not be of use
  void forget_best();           // none is known to be the best
  // As best.json says. One that is damaged is warned of and counts as absent.
  std::optional<SavedState> best() const;

  // Removes what a killed process left, and what need not be kept.
  void clean();

 private:
  void clean(std::optional<int64_t> always);  // a step that stays whatever the others are

  std::string directory_;
  int64_t keep_;
  std::set<int64_t> spared_;
  std::optional<int64_t> best_;  // by set_best(): kept whatever becomes of best.json
};

// Throws Error naming file and reason unless every file that complete.json lists is as it says.
void verify_state(const SavedState& state);

}  // namespace bertrain
