// What every task that learns from a person's files is told of them, and what is wrong with that.
#pragma once

#include <cstdint>
#include <string>

namespace bertrain {

struct DataOptions {
  std::string train_file, dev_file, test_file;  // test_file: to predict, "-" standard input
  std::string input_meta_data_path;             // of train_file's records
  double train_fraction = 1;                    // of the rows to train on, by a hash of their text
  int64_t limit = 0;           // rows of train_file and of dev_file, from their start; 0: all
  int64_t max_seq_length = 0;  // tokens of an example; 0: as trained, else the task's own
};

inline constexpr double kMostClassifierDropout = 0.999;  // as of the other rates of a model

// Usage errors for numbers out of range; `positions` are the model's.
void check_data_options(const DataOptions& options, int64_t positions);
void check_dev_fraction(double share);
void check_classifier_dropout(double rate);

}  // namespace bertrain
