// Parameters and optimizer slots as the arguments of the program that updated them last: a run hands
// a hundred buffers over, and none of the names behind them is touched.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/plugin/arrays.h"

namespace bertrain {

// Which values make up which argument. Programs of equal slots share one object (Shelf keeps them).
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

class PjrtState : public DeviceState {
 public:
  const DeviceArrays& arrays() override;
  void set(const std::string& name, std::shared_ptr<DeviceArray> array) override;

  // The buffers of each slot, sent or stacked where that is yet to be done.
  StoredList in(const std::shared_ptr<const StateLayout>& layout, Shelf& shelf);
  // What a program made of them.
  void replace(const std::shared_ptr<const StateLayout>& layout, StoredList made);

 private:
  // Of `layout_`, if there is one. The arrays of its names are then made when asked for.
  std::shared_ptr<const StateLayout> layout_;
  StoredList stored_;
  bool arrays_are_made_ = true;
};

}  // namespace bertrain
