// The files of answers that predict leaves for questions in SQuAD's layout (docs/formats/squad.md).
#pragma once

#include <ostream>
#include <string>

#include "cli/row_output.h"
#include "storage/file_group.h"
#include "task/squad/answer_files.h"

namespace bertrain {

// For --output_file=out/predictions.json: that, out/nbest_predictions.json and out/null_odds.json, as
// run_squad.py names them. In general nbest_NAME, and NAME with null_odds in the place of predictions,
// or else null_odds_NAME. For "-", standard output, for a pipe and for a device the answers alone: the
// others are "".
struct AnswerFiles {
  std::string predictions, n_best, null_odds;
};
AnswerFiles answer_files(const std::string& output_file);

// Opened before the work, so that a place that cannot be written to is known by then. The files appear
// together when all of them are whole, or none does.
class AnswerOutput {
 public:
  // Null odds are written of version 2 alone. "-" is `out`.
  AnswerOutput(const AnswerFiles& files, bool version_2, std::ostream& out);
  void write(const SquadPredictions& answers);  // once

 private:
  AnswerFiles files_;
  RowOutput answers_;
  FileGroup beside_;
  Writer *n_best_ = nullptr, *null_odds_ = nullptr;  // in `beside_`; null: not written
};

}  // namespace bertrain
