// The features of create_finetuning_data.py's squad, checked against one another.
#include "task/squad/recorded_windows.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace bertrain {
namespace {

using Integers = std::vector<int64_t>;

}  // namespace

RecordedWindows::RecordedWindows(RecordedReader& reader, int64_t limit) {
  while (reader.next()) {
    std::string id = reader.text("id");
    if (ids_.empty() || id.empty() || id != ids_.back()) {
      if (limit > 0 && std::ssize(ids_) == limit) break;
      ids_.push_back(id.empty() ? std::to_string(reader.number()) : std::move(id));
    }
    PairInput input = reader.input();
    int64_t most = std::ssize(input.ids) - 1;
    Window window;
    window.first = input.first;
    window.start = static_cast<uint32_t>(reader.integer("start_positions", 0, most));
    // Inclusive, so that an answer may be one piece.
    window.last = static_cast<uint32_t>(reader.integer("end_positions", window.start, most));
    window.is_impossible =
        reader.has("is_impossible") && reader.integer("is_impossible", 0, 1) == 1;
    if (window.is_impossible && window.last != 0) {
      reader.fail("end_positions", std::to_string(window.last),
                  "0 where is_impossible says that there is no answer,");
    }
    tokens_.insert(tokens_.end(), input.ids.begin(), input.ids.end());
    window.end = tokens_.size();
    window.question = ids_.size() - 1;
    windows_.push_back(window);
  }
}

uint64_t RecordedWindows::impossible() const {
  // Other tools say the same of a window that lacks an answer which another window has.
  std::vector<bool> is_answered(ids_.size());
  for (const Window& window : windows_) {
    if (!window.is_impossible) is_answered[window.question] = true;
  }
  return static_cast<uint64_t>(std::count(is_answered.begin(), is_answered.end(), false));
}

Example RecordedWindows::example(uint64_t index) const {
  const Window& window = windows_.at(index);
  uint64_t begin = index == 0 ? 0 : windows_[index - 1].end;
  Example example;
  add_input(example, tokens_.data() + begin, window.end - begin, window.first);
  example["start_position"] = Integers{window.start};
  example["end_position"] = Integers{window.last};
  example["is_impossible"] = Integers{window.is_impossible ? 1 : 0};
  example["row"] = Integers{static_cast<int64_t>(window.question)};
  return example;
}

ExampleStream stream(std::shared_ptr<const RecordedWindows> windows) {
  uint64_t size = windows->size();
  return indexed(size, [=](uint64_t index) { return windows->example(index); });
}

}  // namespace bertrain
