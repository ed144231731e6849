// The runs of one command in one folder: runs.json names theirs, so that none of another layout stays
// beside them and is taken for a result.
#pragma once

#include <string>
#include <vector>

#include "train/run_directory.h"

namespace bertrain {

// The folders, as "seed-7", that runs.json in the folder lists; {}: there is none. Throws Error for a
// damaged one, and for a name that is a link, as what is listed may be removed.
std::vector<std::string> runs_below(const std::string& folder);

class RunGroup {
 public:
  // `runs`: names of folders below output_dir; {}: one run, in output_dir itself. Throws Error where the
  // folder has one run and several are asked for, or the other way round, unless `overwrite`.
  RunGroup(std::string output_dir, std::vector<std::string> runs, bool overwrite);

  // Of each of its runs, before the preflight: what `overwrite` is to replace here goes when the run
  // starts, so that a preflight that fails costs nothing, and runs.json is written then.
  void join(RunDirectory& run) const;

 private:
  std::vector<std::string> replaced() const;
  void write_down() const;
  std::string file() const;

  std::string output_dir_;
  std::vector<std::string> runs_;
  bool overwrite_;
};

}  // namespace bertrain
