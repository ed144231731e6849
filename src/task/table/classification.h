// Texts and pairs of texts from tables with a label column: classification, multi-label, regression.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "task/data_options.h"
#include "task/table/target.h"
#include "task/task.h"
#include "text/tokenizer.h"

namespace bertrain {

inline constexpr const char* kLongTextHelp =
    "what is read of a text beyond the model's length: head (its beginning), head_tail (a quarter "
    "from its beginning, the rest from its end) or windows (all, in windows --doc_stride apart, "
    "whose predictions' mean is the row's) (default: head, or as in training)";

struct ClassificationOptions : DataOptions {
  std::string layout;    // a name that find_layout knows; empty: own tables
  std::string data_dir;  // its folder
  std::string text_column, text_b_column, label_column, id_column;
  std::string format;          // "tsv", "csv", "jsonl"; empty: by the name's ending
  std::string trained_format;  // for names whose ending says nothing; empty: tsv
  std::optional<bool> header;  // absent: as the description says, else there is one
  std::string bad_rows = "fail", invalid_utf8 = "error";
  double dev_fraction = 0.05;
  std::string long_text;   // "head", "head_tail", "windows"; empty: as trained, else head
  int64_t doc_stride = 0;  // of windows; 0: as trained, else half of one
  double classifier_dropout = 0.1;
  TargetOptions target;

  template <class Visitor>
  void each(Visitor& v) {
    v("data_dir", data_dir, "folder of a benchmark's tables, where --task names one of them");
    v("train_file", train_file,
      "table to train on (TSV, CSV or JSON lines; gzip is recognised), or what prepare made of it");
    v("input_meta_data_path", input_meta_data_path,
      "meta data of a train_file of TFRecords, as prepare --task=... writes both");
    v("dev_file", dev_file, "table to evaluate on; without it a part of train_file is held out");
    v("dev_fraction", dev_fraction, "share of train_file that is held out, by a hash of the text");
    v("train_fraction", train_fraction,
      "share of the training rows that is used, by a hash of the text: the same ones every time");
    v("limit", limit,
      "rows of train_file and of dev_file that are used, from the start, for a trial (what is held "
      "out is among them; test_file is predicted whole); 0: all");
    v("test_file", test_file, "table to predict, labels optional; - is standard input");
    v("text_column", text_column, "column of the text, by name or number from 1 (default: text)");
    v("text_b_column", text_b_column, "column of the second text of a pair");
    v("label_column", label_column, "column of the label (default: label)");
    v("id_column", id_column, "column that names a row in the results");
    v("header", header, "the first line names the columns; if not given, it does");
    v("format", format, "tsv, csv or jsonl (default: by the name's ending, else tsv)");
    v("bad_rows", bad_rows,
      "rows that cannot be read, or lack a label that is needed: fail, or skip with a count");
    v("invalid_utf8", invalid_utf8, "bytes that are not UTF-8: error, replace or ignore");
    v("max_seq_length", max_seq_length,
      "tokens of an example; longer texts are counted and shortened (0: 128, or the model's)");
    v("long_text", long_text, kLongTextHelp);
    v("classifier_dropout", classifier_dropout, "dropout before the output layer while training");
    v("labels", target.labels, "all classes in their order, by commas (default: as found, sorted)");
    v("label_separator", target.label_separator, "of multilabel: between the classes of a row");
    v("class_weights", target.class_weights,
      "how much rows of a class count: balanced (by how rare it is), or name=weight,…");
    v("label_smoothing", target.label_smoothing,
      "share of the probability to learn that is spread over all classes");
  }
};

// `kind` is "classification", "multilabel" or "regression": task/table/target.h says what each learns,
// predicts and is scored by; the loss term is the mean over examples, by class weights where there are
// some.
//
// Splits: train and dev (from train_file, dev_file or the part held out), test (from test_file), as
// far as there are files. What labels there are is in `description` if there is one, else learnt from
// train_file. A label in dev that is not among them is an Error with file and line; test
// files need no labels, and may be standard input, whose examples can be asked for only once. With
// a `description` (of a model folder) the columns and the length that the options do not give are
// taken from it, and so are whether there is a header, and the format where a name does not tell;
// what is wrong in it is told with `described_in`, the file that it is from. Files are read here, so
// that what is wrong in them is known before anything runs.
// Rows have `id` where the table has ids.
// With input_meta_data_path, train_file has the records of RecordMaker, all of which are trained on; its
// meta data stand in the place of a description. A file to evaluate on may hold records always.
// With a `layout` the tables are those of data_dir, and a further development set is the split
// "dev_mismatched"; a description keeps its name, so that its dev and test files are known again.
std::unique_ptr<Task> make_classification(std::string_view kind,
                                          const ClassificationOptions& options,
                                          const BertConfig& config,
                                          std::shared_ptr<const Tokenizer> tokenizer,
                                          const Json* description,
                                          const std::string& described_in = "the description");

}  // namespace bertrain
