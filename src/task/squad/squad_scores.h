// The official scores of SQuAD 1.1 and 2.0, in the numbers of evaluate-v1.1.py and evaluate-v2.0.py.
#pragma once

#include "base/json.h"
#include "task/squad/answer_files.h"
#include "task/squad/answer_overlap.h"
#include "task/squad/squad_data.h"

namespace bertrain {

// {"exact_match": 81.2, "f1": 88.5}, in percent of all questions. The script prints
// python_json(result). Throws Error for a question without answers, naming it. Questions without a
// prediction score 0; they are counted in a warning, as are predictions of no question.
Json score_squad_v1(const SquadData& data, const AnswersById& predictions,
                    ScoreUnit unit = ScoreUnit::word);

struct SquadV2Options {
  // By id, of each predicted question: above na_prob_thresh the answer counts as "". With them the best
  // threshold is looked for as well.
  const NullOddsById* null_odds = nullptr;
  double na_prob_thresh = 1.0;
  ScoreUnit unit = ScoreUnit::word;
};

// {"exact", "f1", "total", and the same with HasAns_ and NoAns_ where there are such questions, and with
// null odds best_exact, best_exact_thresh, best_f1, best_f1_thresh}. The script prints
// python_json(result, 2). Sums are plain, as in Python before 3.12. Throws Error for a predicted
// question without null odds. Where a prediction is missing, at which the script fails, the question
// scores 0 as in 1.1.
Json score_squad_v2(const SquadData& data, const AnswersById& predictions,
                    const SquadV2Options& options = {});

}  // namespace bertrain
