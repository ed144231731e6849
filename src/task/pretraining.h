// Pre-training of BERT: masked language model and, unless told otherwise, next sentence, from records that `prepare` or
// create_pretraining_data.py has written.
#pragma once

#include <memory>
#include <string>

#include "model/config.h"
#include "task/task.h"

namespace bertrain {

struct PretrainingOptions {
  std::string input_file, eval_file;
  int64_t max_seq_length = 0, max_predictions_per_seq = 0;
  bool skip_corrupt = false;
  bool next_sentence = true;

  template <class Visitor>
  void each(Visitor& v) {
    v("input_file", input_file, "TFRecords to train on: comma list of paths and globs");
    v("eval_file", eval_file, "TFRecords to evaluate on");
    v("max_seq_length", max_seq_length, "tokens of a record; must be the data's (0: read from it)");
    v("max_predictions_per_seq", max_predictions_per_seq,
      "masked positions of a record; must be the data's (0: read from it)");
    v("skip_corrupt", skip_corrupt, "pass over damaged records, with a count");
    v("next_sentence", next_sentence,
      "tell also whether the second sentence follows; --nonext_sentence: masked words alone, with "
      "neither pooler nor that head in the model");
  }
};

// Splits: train (input_file), dev (eval_file). The first record of every file is checked here: its
// lengths must be the options', and those of all files equal; the error names the file and both
// numbers. Records hold input_ids, input_mask, segment_ids [max_seq_length], masked_lm_positions,
// masked_lm_ids, masked_lm_weights [max_predictions_per_seq], next_sentence_labels [1] (1: a random
// sentence follows). Examples have neither padding nor targets of weight 0.
//
// Schema: masked_lm_ids i32 [M], masked_lm_weights f32 [M], next_sentence_labels i32 [E].
// Predictions: masked_lm_loss f32, masked_lm_prediction i32 [M]; next_sentence_loss f32,
// next_sentence_prediction i32 [E]. Terms: masked_lm_loss, divided by Σ weights + 1e-5 of the
// global batch, and next_sentence_loss, the mean over examples.
// Scores, as the reference's: masked_lm_accuracy, masked_lm_loss (weighted means over all targets),
// next_sentence_accuracy, next_sentence_loss (means over all examples), and loss, the sum of the
// two losses. Without next_sentence what is of it is left out, and records need not have its labels.
std::unique_ptr<Task> make_pretraining(const PretrainingOptions& options, const BertConfig& config);

}  // namespace bertrain
