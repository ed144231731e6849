// The files of answers that predict leaves for questions in SQuAD's layout (docs/formats/squad.md).
#pragma once

#include <ostream>
#include <string>

#include "task/squad/answer_files.h"

namespace bertrain {

// For --output_file=out/predictions.json: that, out/nbest_predictions.json and out/null_odds.json, as
// run_squad.py names them. In general nbest_NAME, and NAME with null_odds in the place of predictions,
// or else null_odds_NAME. For "-", standard output, the answers alone: the others are "".
struct AnswerFiles {
  std::string predictions, n_best, null_odds;
};
AnswerFiles answer_files(const std::string& output_file);

// Null odds are written of version 2 alone. Each file appears whole; the answers come last.
void write_answers(const SquadPredictions& answers, const AnswerFiles& files, bool version_2,
                   std::ostream& out);

}  // namespace bertrain
