// What lies beside a task's recorded rows: the JSON that create_finetuning_data.py writes
// (docs/formats/recorded_tasks.md), and what else tells whether rows and model belong together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "model/config.h"
#include "text/tokenizer.h"

namespace bertrain {

struct MetaData {
  std::string file;
  // Task::describe() of the task that wrote the rows. Of a file with the reference's keys alone: the
  // task, max_seq_length, and labels 0, 1, … by their number, or squad's settings.
  Json description;
  bool is_described = false;                      // the file has a description
  std::string processor_type;                     // "MNLI"; empty: none
  int64_t max_seq_length = 0;                     // of every record
  std::optional<uint64_t> train_rows, eval_rows;  // records
};

// The file's content for a task that `description` (of Task::describe()) names. `eval_rows`: nullopt
// where there are none.
Json make_meta_data(const Json& description, const std::string& processor_type,
                    const Tokenizer& tokenizer, uint64_t train_rows,
                    std::optional<uint64_t> eval_rows);

// Reads one for rows of `task` ("classification", "squad", …). Throws Error that names the file and
// the key where it is no such file, of another task, made by another vocabulary or another casing, or
// longer than the model's positions; and a usage error where `asked_length` (of --max_seq_length) is
// neither 0 nor the records'.
MetaData read_meta_data(const std::string& uri, std::string_view task, const Tokenizer& tokenizer,
                        const BertConfig& config, int64_t asked_length);

// Throws Error where a file has another number of records than its meta data say.
void require_rows(const std::string& file, uint64_t records, std::optional<uint64_t> expected,
                  const MetaData& meta);

}  // namespace bertrain
