// Finished rows given out in the order of the input, however they were finished.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "task/task.h"

namespace bertrain {

// For tasks whose rows become finished out of order, because batches are packed and examples
// shuffled, or because a row waits for the last of its windows. Holds what is ahead of its turn.
class OrderedRows : public Rows {
 public:
  std::optional<Example> next() final {
    auto first = waiting_.begin();
    if (first == waiting_.end() || first->first != next_) return std::nullopt;
    ++next_;
    Example row = std::move(first->second);
    waiting_.erase(first);
    return row;
  }

 protected:
  // Rows are numbered from 0 without gaps.
  void finish(int64_t row, Example example) { waiting_.emplace(row, std::move(example)); }

 private:
  std::map<int64_t, Example> waiting_;
  int64_t next_ = 0;
};

}  // namespace bertrain
