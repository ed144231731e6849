// The classes of a task by name, in the order of the model's outputs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/array.h"

namespace bertrain {

// What a model folder can hold: its config.json has each label as a key, and lists all of them three
// times over.
inline constexpr size_t kMostLabels = 10'000;
inline constexpr size_t kMostLabelBytes = size_t{1} << 20;  // of all together

// Learnt from training rows, then stored with the model, so that outputs always carry names.
class Labels {
 public:
  Labels() = default;
  // in this order; throws Error for a repeated one
  explicit Labels(std::vector<std::string> names);

  // The distinct ones, sorted: by value if all are numbers (2 before 10), else by bytes. Sorted and
  // not as first seen, so that the order of the training rows changes nothing.
  static Labels learn(const std::vector<std::string>& found);

  size_t size() const { return names_.size(); }
  const std::string& name(size_t index) const { return names_.at(index); }
  const std::vector<std::string>& names() const { return names_; }
  int64_t find(std::string_view name) const;  // -1: unknown

  size_t bytes() const;  // of all names

  std::string list() const;  // for messages: "'a', 'b', … (20 in all)"

 private:
  std::vector<std::string> names_;
  Named<int64_t> index_;
};

}  // namespace bertrain
