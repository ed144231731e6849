// The folder of one run: who works in it, what it was asked, what it learnt and chose, and its log.
#pragma once

#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked_json.h"
#include "base/log.h"
#include "train/run_lock.h"

namespace bertrain {

enum class Resume { automatic, never, require, inexact };
Resume parse_resume(std::string_view text);  // auto | never | require | inexact; else a usage error

// What decides a run's weights; a run goes on only under the same.
struct RunRequest {
  std::string command;                 // "finetune"
  std::vector<std::string> arguments;  // as typed
  Json settings = Json::object();      // every option by name
  Json task = Json::object();        // Task::describe(): labels and the like, learnt from the data
  Json data = Json::object();        // fingerprint of each input file, by its path
  std::vector<std::string> neutral;  // names of settings that may change between starts
  Json model = Json::object();       // configuration, fingerprints of vocabulary and first weights
};

// Holds the lock while it lives; every log line is also appended to log.txt with its time.
//
//   run.json       command, arguments, folder, settings, versions, data, what the program chose,
//                  finished
//   log.txt        all that was printed, with times, over all starts
//   metrics.jsonl  one object a logged step        tensorboard/  the same for TensorBoard
//   checkpoints/   states to resume from           model/        the result
class RunDirectory {
 public:
  // Creates the folder, takes its lock, and reads what an earlier start left. With `overwrite` an
  // earlier run counts as absent and is removed by start(), so that a preflight that fails costs
  // nothing. Throws when another job works here, when there is a run and `never` was asked, or none
  // and `require` was.
  RunDirectory(const std::string& path, Resume resume, bool overwrite);
  ~RunDirectory();

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const;  // path()/name
  bool continues() const { return !record_.is_null(); }
  const Json& record() const { return record_; }  // run.json as it is; null before start()

  // Settings of the earlier start that the request does not share are an Error that lists each
  // with both values; with inexact, a warning and false, unless weights or slots would have other
  // shapes. Changes nothing.
  bool compare(const RunRequest& request) const;
  // A usage error where start() would remove one of the files (or checkpoints) that are read.
  void keep_inputs(const std::vector<std::string>& inputs) const;
  uint64_t replaced_bytes() const;  // of what start() removes
  // The folders of other runs, each after those in it, that start() removes before it writes anything;
  // then it calls `then`. May be called again for more of them. Locks them until it has; throws when a
  // job works in one of them.
  void replace_also(std::vector<std::string> runs, std::function<void()> then);
  // Removes an earlier run that is to be overwritten, then writes run.json: what was compared is now
  // what the run was asked, and it is not done.
  // `choices`: those of the program that decide bits (dtype, capacities …), by name. A start that
  // cannot be written down has not begun: nothing of it stays.
  void start(const RunRequest& request, const Json& choices = Json::object());
  // A choice of an earlier start, by name. If that one `cannot` be (a reason), or differs from what the user insists
  // on, the caller says so through inexact().
  std::optional<JsonValue> chosen(std::string_view name) const;
  // The run would go on with other bits than before: an Error, or a warning with --resume=inexact.
  void inexact(std::string_view reason) const;
  void finish(int64_t step, const Json& results);  // marks the run as done
  std::optional<int64_t> finished_step() const;    // nullopt: the run is not done
  Json finished_results() const;  // of a run that is done: what finish() was given; {}: not there
  bool stopped_early() const;     // done, though with fewer steps than were asked for
  // Calls `work`; what it throws is also written to log.txt.
  void logged(const std::function<void()>& work);
  // Lines for log.txt alone: results that went to a command's stream.
  void note(std::string_view text);

 private:
  void save() const;
  void open_log();
  void remove_earlier();
  void remove_others();
  std::vector<std::string> replaced() const;  // the folders that start() empties

  // Creates the folder and those above it; at the end (after the lock is gone) removes what it created again as far as
  // that is still empty.
  struct Folder {
    explicit Folder(const std::string& path);
    ~Folder();
    std::string path;
    std::vector<std::string> created;  // from the folder upwards
    void remove_created();
  };

  Folder folder_;
  std::string path_;
  Resume resume_;
  std::unique_ptr<RunLock> lock_;
  Json record_;
  std::ofstream log_;
  bool replaces_ = false;            // an earlier run is here still, and start() removes it
  bool had_log_ = false;             // of an earlier start, or the user's own
  bool log_failed_ = false;          // which has been said
  std::vector<std::string> others_;  // runs that start() removes, too
  std::vector<std::unique_ptr<RunLock>> other_locks_;
  std::vector<std::function<void()>> then_;  // for start()
  std::string waiting_;                      // for log.txt, while that of the earlier run is there
  std::unique_ptr<LogSink> sink_;
};

inline constexpr uint64_t kMaxRecord =
    64 << 20;  // bytes of run.json, with the names of all data files

// "2026-11-27T23:40:01Z"
std::string utc_time();

// The names of files may be any bytes, JSON holds UTF-8 alone: of a text that is not, each byte that
// is in no character becomes \xff and each backslash two, so that it can be read back; likewise of a
// text that holds "\x". Other texts stay. So are a run's requests kept.
Json in_utf8(const Json& json);
// A text as it was before in_utf8().
std::string out_of_utf8(const std::string& text);

}  // namespace bertrain
