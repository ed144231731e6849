// Recorded rows of texts as what a table's rows become.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "task/meta_data.h"
#include "task/recorded.h"
#include "task/table/target.h"
#include "task/table/text_data.h"

namespace bertrain {

// What meta data say of a task. Where they have no description, classes are called as in the benchmark
// that processor_type names, if there are as many, else by their numbers.
Json described_rows(const MetaData& meta);

// Throws a usage error where --labels names other classes than the records have.
void require_labels(const TargetOptions& options, const Json& description);

// A file of records, and what they are read as.
struct RecordedTexts {
  std::string file;
  std::string kind;  // the task's
  std::shared_ptr<const TextTarget> target;
  const MetaData* meta;  // null: none, of a file to evaluate on
  int64_t limit;         // rows; 0: all
  LongText how;          // of the task: whether a row may have windows
};

// All rows of the reader, with their labels, in which the windows of a row agree. Throws Error for
// other than `expected` records, where no limit is set.
std::shared_ptr<TextData> read_recorded_texts(RecordedReader reader, const RecordedTexts& from,
                                              std::optional<uint64_t> expected);

}  // namespace bertrain
