// Parameters and optimizer slots as the arguments of the program that updated them last: a whole step
// hands a hundred buffers over, and touches none of the names behind them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/plugin/arrays.h"

namespace bertrain {

// Which values make up which argument.
struct StateLayout {
  struct Slot {
    std::vector<std::string> names;
    bool stacked = false;
    ArrayType type;  // of one of them
    bool operator==(const Slot&) const = default;
  };
  std::vector<Slot> slots;
  bool operator==(const StateLayout&) const = default;
};
using StoredList = std::vector<std::shared_ptr<Stored>>;

// One object for programs of equal layouts, which are then told by its address.
class StateLayouts {
 public:
  std::shared_ptr<const StateLayout> find_or_add(StateLayout layout);

 private:
  std::vector<std::shared_ptr<const StateLayout>> layouts_;
};

// Programs that take the values in another way (micro-batches, evaluation) get them as arrays, which
// are made then.
class PjrtState : public DeviceState {
 public:
  explicit PjrtState(std::shared_ptr<Shelf> shelf) : shelf_(std::move(shelf)) {}

  const DeviceArrays& arrays() override;
  void set(const std::string& name, std::shared_ptr<DeviceArray> array) override;

  const Shelf* shelf() const { return shelf_.get(); }
  // The buffers of each slot, sent or stacked where that is yet to be done.
  StoredList arguments(const std::shared_ptr<const StateLayout>& layout);
  // What a program made of them: what they were is dead.
  void replace(const std::shared_ptr<const StateLayout>& layout, StoredList made);

 private:
  template <class Do>
  void for_each_array(const Do& action);  // (slot, number in it, entry of arrays_)

  std::shared_ptr<Shelf> shelf_;
  // Of `layout_`, if there is one. The arrays of its names are then made when asked for.
  std::shared_ptr<const StateLayout> layout_;
  StoredList stored_;
  bool arrays_are_made_ = true;
};

}  // namespace bertrain
