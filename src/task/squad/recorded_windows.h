// Recorded windows of questions to train on; questions to score need the texts of SQuAD's file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/streams.h"
#include "task/recorded.h"

namespace bertrain {

// In memory, 4 bytes a token.
class RecordedWindows {
 public:
  // Reads all records; `limit`: of the first so many questions, where that is not 0 (windows of one
  // question lie one behind the other, with its id; without ids each is one's own).
  RecordedWindows(RecordedReader& reader, int64_t limit);

  uint64_t size() const { return windows_.size(); }
  uint64_t questions() const { return ids_.size(); }
  uint64_t impossible() const;  // questions without an answer in any window
  const std::string& id(uint64_t question) const { return ids_.at(question); }
  // input_ids, segment_ids, start_position, end_position, is_impossible, row (the question).
  Example example(uint64_t index) const;

 private:
  struct Window {
    uint64_t end;  // in tokens_
    uint64_t question;
    uint32_t first, start, last;
    bool is_impossible;
  };
  std::vector<int32_t> tokens_;
  std::vector<Window> windows_;
  std::vector<std::string> ids_;  // by question
};

ExampleStream stream(std::shared_ptr<const RecordedWindows> windows);

}  // namespace bertrain
