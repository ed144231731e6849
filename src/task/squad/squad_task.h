// Question answering as a task: SQuAD's files to windows, windows to spans, spans to one answer a question.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "model/config.h"
#include "task/data_options.h"
#include "task/squad/squad_answers.h"
#include "task/task.h"
#include "text/tokenizer.h"

namespace bertrain {

// 0, "" and absent mean: as the model was trained, else what the help says.
struct SquadOptions : DataOptions {  // max_seq_length 0: 384, or the model's positions if less
  int64_t doc_stride = 0, max_query_length = 0, n_best_size = 0, max_answer_length = 0;
  std::optional<bool> version_2_with_negative;
  std::string null_score_diff_threshold, score_unit;
  std::string span_loss = "tokens";

  template <class Visitor>
  void each(Visitor& v, bool training) {
    v("doc_stride", doc_stride,
      "pieces from one window to the next, of squad's contexts (0: 128, or as in training) and of "
      "--long_text=windows (0: half a window, or as in training)");
    v("max_query_length", max_query_length,
      "of squad: pieces of a question (0: 64, or as in training)");
    v("n_best_size", n_best_size, "of squad: answers in the list (0: 20, or as in training)");
    v("max_answer_length", max_answer_length,
      "of squad: pieces of an answer (0: 30, or as in training)");
    v("version_2_with_negative", version_2_with_negative,
      "of squad: no answer is one, as in SQuAD 2.0; if not given, as the data trained on have it");
    v("null_score_diff_threshold", null_score_diff_threshold,
      "of squad 2.0: no answer if its score is more than this above the best other's (default: 0, "
      "or as in training)");
    v("score_unit", score_unit,
      "of squad: words as in the official scores, or character for Chinese (default: word)");
    if (!training) {
      v("max_seq_length", max_seq_length, "of squad: tokens of a window (0: as in training)");
      return;
    }
    v("span_loss", span_loss,
      "of squad: softmax over the tokens of a window, or padded: over max_seq_length slots, as "
      "run_squad.py, whose padding takes part");
  }
};

// The task "squad". Splits: train, dev (scored), test (answered), as far as there are files; their
// examples are windows, their rows questions. A question on a context without any text has a window
// [CLS] [SEP], so that its row, "", comes out in its place. Whether "no answer" is one is what the
// options say, else the description of a trained model, else whether the file to train on (or, of a
// model without a description, to answer) has such questions.
//
// With input_meta_data_path, train_file has the records of RecordMaker, all of which are trained on.
//
// Schema: start_position, end_position i32 [E], of the answer's pieces in the window; 0, 0: not in it.
// Loss term: span_loss, the mean over windows of half the sum of start's and end's (span_loss.h).
// Rows: squad_row's. Scores in percent: eval_exact_match, eval_f1; of 2.0 also the official
// eval_HasAns_exact, eval_HasAns_f1, eval_NoAns_exact, eval_NoAns_f1 (0 where there is no such question),
// eval_best_exact, eval_best_f1 and their thresholds …_thresh; eval_count.
// Throws usage errors for options out of range, and for a model that takes no pairs.
std::unique_ptr<Task> make_squad(const SquadOptions& options, const BertConfig& config,
                                 std::shared_ptr<const Tokenizer> tokenizer,
                                 const Json* description,
                                 const std::string& described_in = "the description");

// A finished row: `id`, `answer`, `question` (its number in the file), and of each of the n best
// `n_best_text`, `probability`, `start_logit`, `end_logit`, `null_odds` (in text what floats would
// round).
Example squad_row(const std::string& id, int64_t question, const SquadPrediction& prediction);
SquadPrediction squad_prediction_of(const Example& row);

}  // namespace bertrain
