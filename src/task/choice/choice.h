// Multiple choice: which of several texts goes with a context, as transformers'
// BertForMultipleChoice.
#pragma once

#include <memory>
#include <string>

#include "model/config.h"
#include "task/table/classification.h"
#include "task/task.h"
#include "text/tokenizer.h"

namespace bertrain {

struct ChoiceOptions {
  // Of these the files, text_column (the context), text_b_column (how each choice begins), the label's
  // and the id's columns, and how rows are read, drawn and cut.
  ClassificationOptions table;
  std::string
      choice_columns;  // by commas, or what their names begin with; empty: as trained, or ending

  template <class Visitor>
  void each(Visitor& v) {
    v("choice_columns", choice_columns,
      "of multiple_choice: columns of the choices by commas, or what their names begin with "
      "(default: as in training, else ending: ending0, ending1, ...)");
  }
};

// Splits: train and dev (from train_file, dev_file or the part held out; in memory), test (from
// test_file, which may be standard input, whose examples can be asked for only once), as far as there
// are files. Each file has its own number of choices; labels are numbers from 0, which test files need
// not have. With a `description` (of a model folder) the columns, the length and whether there is a
// header are its, where the options do not say. With input_meta_data_path, train_file has the records
// of RecordMaker, all of which are trained on; a file to score may hold records always.
//
// An example is a row: context and choice as a pair of texts, for each choice, one behind the other.
// Each attends to itself alone, at positions from 0, so that a row stays in one batch like any other
// example. Schema: choice, choice_position i32 [R, S], choice_first i32 [E, N], choice_there f32 [E, N],
// label i32 [E]; N: the most choices of any file. The head has one output, output_weights [1, H] and
// output_bias [1], on each choice's pooled vector; the loss (classification_loss, the mean over rows) is
// the cross-entropy of the softmax over a row's choices. Rows and scores are those of
// make_single_label, the labels "0" … "N − 1"; a place that a row has no choice for has probability 0.
std::unique_ptr<Task> make_choice(const ChoiceOptions& options, const BertConfig& config,
                                  std::shared_ptr<const Tokenizer> tokenizer,
                                  const Json* description,
                                  const std::string& described_in = "the description");

}  // namespace bertrain
