// Tagging: a tag for every word of a sentence (names of people and places, parts of speech), from files
// in CoNLL columns.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "model/config.h"
#include "task/data_options.h"
#include "task/task.h"
#include "text/tokenizer.h"

namespace bertrain {

// Counted from 1; 0: as described, else the first and the last.
struct TagColumns {
  int64_t word_column = 0, tag_column = 0;

  template <class Visitor>
  void each(Visitor& v) {
    v("word_column", word_column,
      "of tagging: the word's column, from 1 (0: as trained, else the first)");
    v("tag_column", tag_column,
      "of tagging: the tag's column, from 1 (0: as trained, else the last)");
  }
};

struct TaggingOptions : DataOptions {  // max_seq_length 0: as described, else 128, or the model's
  TagColumns columns;
  std::string labels;  // all tags in their order, by commas
  std::string invalid_utf8 = "error";
  double dev_fraction = 0.05;
  double classifier_dropout = 0.1;
};

// Splits: train and dev (from train_file, dev_file, or the sentences held out), test (from test_file),
// as far as there are files. Tags are those of `description` if there is one, else learnt from
// train_file. A tag in dev that is not among them cannot be predicted: it is scored as it is, has no
// loss, and is warned of with file and line; if none is known the file is refused. An example is a
// window of a sentence (tag_windows.h); its targets are the first pieces of the words tagged there.
//
// Schema: tags i32 [M], tag_weights f32 [M] (0: the tag is not known). Predictions: tag i32 [M], loss
// f32 [M], surprise f32 [M] (−log of the probability of `tag`). Term: tagging_loss, the mean over words.
// Rows, one for each sentence, and for lines behind the last one: words, tags, probabilities (of these
// tags), one each; gold, as many, and loss (of those known), where there are tags; and the sentence's
// lines, word_lines, tag_column (absent: none) of a file to predict (conll.h).
// Scores: eval_precision, eval_recall, eval_f1 (of entities), eval_accuracy, eval_loss (of words),
// eval_count (sentences). Details: classes, by type of entity.
// With input_meta_data_path, train_file has the records of RecordMaker, all of which are trained on. A
// file to score may hold records too.
// The head is that of BertForTokenClassification: dropout and one layer, output_weights [C, H] and
// output_bias [C].
std::unique_ptr<Task> make_tagging(const TaggingOptions& options, const BertConfig& config,
                                   std::shared_ptr<const Tokenizer> tokenizer,
                                   const Json* description,
                                   const std::string& described_in = "the description");

}  // namespace bertrain
