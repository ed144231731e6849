// Where each value of the recording lies in the module's text.
#pragma once

#include <map>
#include <vector>

#include "backend/stablehlo/stacks.h"
#include "backend/stablehlo/text.h"

namespace bertrain {

class Places {
 public:
  Places(const Graph& graph, const Rolled& rolled, const Stacks& stacks, Text& text);

  // First what will be read, so that loops keep it: a value, values one after the other, a sequence.
  void note(Tensor value);
  void note(const StackPart& part);
  void note_sequence(size_t sequence) { needed_[sequence] = true; }
  bool is_needed(size_t sequence) const { return needed_[sequence]; }

  // Then, in the order of the text, what was written.
  void set(Tensor value, Value written);
  void set_group(size_t group, Value written) { groups_[group] = std::move(written); }
  void set_sequence(size_t sequence, Value written) { sequences_[sequence] = std::move(written); }
  void set_last(size_t loop, size_t carried, Value written);

  // A value at the top of the function; slices it out of a stack where it has to, once.
  Value value(Tensor value);
  const Value& sequence(size_t sequence) const;
  // The array that holds these values from place part.first on.
  Value stack(const StackPart& part);

  Text& text() { return text_; }
  const Stacks& stacks() const { return stacks_; }

 private:
  bool is_rolled(Tensor value) const;
  Value layer(const Value& stack, size_t index);

  const Rolled& rolled_;
  const Stacks& stacks_;
  Text& text_;
  std::vector<bool> needed_;
  std::vector<std::vector<Value>> values_;  // by node and output; no name: not yet
  std::map<size_t, Value> groups_, sequences_;
  std::map<std::pair<size_t, size_t>, Value> last_;  // of a loop's carried values
};

}  // namespace bertrain
