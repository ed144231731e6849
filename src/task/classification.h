// Classification of texts and of pairs of texts, from tables with a label column.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "model/config.h"
#include "task/task.h"
#include "text/tokenizer.h"

namespace bertrain {

inline constexpr double kMostClassifierDropout = 0.999;  // as of the other rates of a model

struct ClassificationOptions {
  std::string train_file, dev_file, test_file;  // test_file: rows to predict, "-" standard input
  std::string text_column, text_b_column, label_column, id_column;
  std::string format;          // "tsv", "csv", "jsonl"; empty: by the name's ending
  std::string trained_format;  // for names whose ending says nothing; empty: tsv
  std::optional<bool> header;  // absent: as the description says, else there is one
  std::string bad_rows = "fail", invalid_utf8 = "error";
  double dev_fraction = 0.05;
  int64_t max_seq_length = 0;
  double classifier_dropout = 0.1;

  template <class Visitor>
  void each(Visitor& v) {
    v("train_file", train_file, "table to train on (TSV, CSV or JSON lines; gzip is recognised)");
    v("dev_file", dev_file, "table to evaluate on; without it a part of train_file is held out");
    v("dev_fraction", dev_fraction, "share of train_file that is held out, by a hash of the text");
    v("test_file", test_file, "table to predict, labels optional; - is standard input");
    v("text_column", text_column, "column of the text, by name or number from 1 (default: text)");
    v("text_b_column", text_b_column, "column of the second text of a pair");
    v("label_column", label_column, "column of the label (default: label)");
    v("id_column", id_column, "column that names a row in the results");
    v("header", header, "the first line names the columns; if not given, it does");
    v("format", format, "tsv, csv or jsonl (default: by the name's ending, else tsv)");
    v("bad_rows", bad_rows, "rows that cannot be read: fail, or skip with a count");
    v("invalid_utf8", invalid_utf8, "bytes that are not UTF-8: error, replace or ignore");
    v("max_seq_length", max_seq_length,
      "tokens of an example; longer texts are cut and counted (0: 128, or the model's)");
    v("classifier_dropout", classifier_dropout, "dropout before the output layer while training");
  }
};

// Splits: train and dev (from train_file, dev_file or the part held out), test (from test_file), as
// far as there are files. Labels are those of `description` if there is one, else learnt from
// train_file, sorted. A label in dev that is not among them is an Error with file and line; test
// files need no labels, and may be standard input, whose examples can be asked for only once. With
// a `description` (of a model folder) the columns and the length that the options do not give are
// taken from it, and so are whether there is a header, and the format where a name does not tell;
// what is wrong in it is told with `described_in`, the file that it is from. Files are read here, so
// that what is wrong in them is known before anything runs.
//
// Schema: label i32 [E]. Predictions: probabilities f32 [E, C], loss f32 [E]. Term:
// classification_loss, the mean over examples.
// Rows: `label` and `probability` of the likeliest class, `probabilities` in the order of
// describe()'s labels; `id` where the table has ids; `gold` and `loss` where the label is known.
// Scores: eval_accuracy, eval_loss, eval_macro_f1, eval_matthews, eval_count. Details: classes
// (precision, recall, F1, support of each), confused (the pairs of classes taken for each other most
// often), and of at most 100 classes confusion (labels; matrix [label, predicted] of counts).
// A classifier has 2 to kMostLabels labels; more in a column are a usage error that names it.
std::unique_ptr<Task> make_classification(const ClassificationOptions& options,
                                          const BertConfig& config,
                                          std::shared_ptr<const Tokenizer> tokenizer,
                                          const Json* description,
                                          const std::string& described_in = "the description");

}  // namespace bertrain
