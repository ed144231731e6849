// The records of TFRecord files as a stream of examples.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "data/streams.h"

namespace bertrain {

struct RecordOptions {
  bool skip_corrupt = false;  // damaged records are passed over; the log gets their count per file
  std::shared_ptr<ToldOnce> told;   // that has been said before; null: everything is said
  std::vector<int64_t> first_rows;  // of each file; empty: rows are counted on from file to file
  // What becomes of each record. An Error that it throws gets the file, record and offset in front.
  std::function<Example(Example)> convert;
};

// All records of the files, one file after the other. Each example also has the int64 feature
// `row`: its number in the file, from 0, beyond the file's first row. A skip reads frames but parses
// nothing. Throws Error naming the file, the record and its byte offset for damage, and for a file
// without any record.
ExampleStream read_records(std::vector<std::string> uris, RecordOptions options);

// The first record of a file, and its place for messages: what the file's records look like.
// nullopt: with `skip_corrupt`, where no record of the file is sound, or it is empty.
struct FirstRecord {
  Example example;
  std::string place;  // "FILE: record 1 at byte 0"
};
std::optional<FirstRecord> first_record(const std::string& uri, bool skip_corrupt);

}  // namespace bertrain
