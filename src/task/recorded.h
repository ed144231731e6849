// A task's examples as records of the features that create_finetuning_data.py writes, and back to
// rows; docs/formats/recorded_tasks.md has the features of each task.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/example.h"
#include "formats/tfrecord.h"
#include "task/data_options.h"
#include "task/meta_data.h"
#include "task/pair_input.h"

namespace bertrain {

// Examples of a task's split, in their order, to records of `width` slots.
class RecordMaker {
 public:
  RecordMaker(std::string task, int64_t width) : task_(std::move(task)), width_(width) {}
  // `name`: the row's, which squad keeps.
  Example make(const Example& example, const std::string& name);
  // All records of an example: one, or of multiple_choice one for each choice.
  std::vector<Example> make_all(const Example& example, const std::string& name);

 private:
  std::string task_;
  int64_t width_;
  int64_t number_ = 0;               // records made
  int64_t sentence_ = -1, sub_ = 0;  // of tagging: the last one's
};

// What the records of a file may hold.
struct RecordBounds {
  int64_t width;         // slots of every record; 0: each its own
  int64_t most;          // tokens, at most
  int64_t vocabulary;    // ids are below
  int64_t segments = 2;  // and segment ids below this: the model's type_vocab_size
};

// The records of one file, each with its input. What is wrong with a record is an Error
// "FILE: record 3 at byte 512: feature 'label_ids': 7; a number from 0 to 2 expected".
class RecordedReader {
 public:
  // A pipe is refused, and an empty file.
  RecordedReader(const std::string& uri, const RecordBounds& bounds);

  bool next();  // false at the end
  // Of the record last read:
  PairInput input() const;
  size_t slots() const { return slots_; }
  uint64_t number() const { return reader_.number(); }  // from 1
  bool has(std::string_view feature) const { return example_.contains(feature); }
  int64_t integer(std::string_view feature, int64_t least, int64_t most) const;
  // `count` values; 0: any number
  const std::vector<int64_t>& integers_of(std::string_view feature, size_t count, int64_t least,
                                          int64_t most) const;
  float real(std::string_view feature) const;  // or a whole number
  const std::vector<std::string>& texts(std::string_view feature) const;
  std::string text(std::string_view feature) const;  // one; "" where there is none
  [[noreturn]] void fail(std::string_view feature, std::string_view found,
                         std::string_view expected) const;

 private:
  RecordBounds bounds_;
  TfRecordReader reader_;
  Example example_;
  size_t slots_ = 0;
};

// A file that starts with a record; beside records to train on (`meta`; null: there are none) also an
// empty one, which is none of text.
bool is_recorded(const std::string& file, const MetaData* meta);
// A usage error where a file that has meta data is text: a damaged record is told when it is read.
void require_records(const std::string& file, const MetaData& meta);

// An Error where one of these files ("": none), which are to be read as text, is recorded: what is wrong
// with it as a text need not be told in detail.
void refuse_records(const std::vector<std::string>& files);

// A usage error where a share of the rows of recorded data is asked for: only prepare, which has their
// texts, can draw it. `asked_dev`: --dev_fraction, of which `usual` is the default.
void refuse_shares(double train_fraction, double dev_fraction, double usual);

// The meta data of the records that a task trains on. Throws a usage error where nothing is trained on
// or a share is asked for (as refuse_shares), and as read_meta_data does.
MetaData read_training_meta_data(const DataOptions& options, double dev_fraction,
                                 double usual_dev_fraction, std::string_view task,
                                 const Tokenizer& tokenizer, const BertConfig& config);

// A file of `meta`'s, or without any (null), for a model of that vocabulary.
RecordedReader open_recorded(const std::string& file, const MetaData* meta, int64_t max_seq_length,
                             const Tokenizer& tokenizer, const BertConfig& config);

}  // namespace bertrain
