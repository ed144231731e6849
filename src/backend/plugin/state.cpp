// Slots to names and back.
#include "backend/plugin/state.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace bertrain {

std::shared_ptr<const StateLayout> StateLayouts::find_or_add(StateLayout layout) {
  auto known = std::find_if(layouts_.begin(), layouts_.end(),
                            [&](const auto& other) { return *other == layout; });
  if (known != layouts_.end()) return *known;
  return layouts_.emplace_back(std::make_shared<const StateLayout>(std::move(layout)));
}

template <class Do>
void PjrtState::for_each_array(const Do& action) {
  for (size_t s = 0; s < layout_->slots.size(); ++s) {
    const std::vector<std::string>& names = layout_->slots[s].names;
    for (size_t i = 0; i < names.size(); ++i) action(s, i, arrays_[names[i]]);
  }
}

const DeviceArrays& PjrtState::arrays() {
  if (arrays_are_made_) return arrays_;
  std::vector<std::shared_ptr<const ArrayType>> types;
  for (const StateLayout::Slot& slot : layout_->slots) {
    types.push_back(std::make_shared<const ArrayType>(slot.type));
  }
  for_each_array([&](size_t slot, size_t i, std::shared_ptr<DeviceArray>& entry) {
    auto array = std::make_shared<PjrtArray>();
    array->whole = types[slot];
    array->stored = stored_[slot];
    if (layout_->slots[slot].stacked) array->layer = i;
    entry = std::move(array);
  });
  arrays_are_made_ = true;
  return arrays_;
}

void PjrtState::set(const std::string& name, std::shared_ptr<DeviceArray> array) {
  arrays();
  layout_ = nullptr;
  stored_.clear();
  arrays_[name] = std::move(array);
}

StoredList PjrtState::arguments(const std::shared_ptr<const StateLayout>& layout) {
  if (layout == layout_) {
    // Copies that were cut or joined for other programs are given up before the run, not after it.
    if (arrays_are_made_) {
      for_each_array([&](size_t slot, size_t i, std::shared_ptr<DeviceArray>& entry) {
        auto& array = static_cast<PjrtArray&>(*entry);
        array.stored = stored_[slot];
        array.layer.reset();
        if (layout_->slots[slot].stacked) array.layer = i;
      });
    }
    return stored_;
  }
  arrays();
  layout_ = nullptr;
  stored_.clear();
  StoredList stored;
  for (const StateLayout::Slot& slot : layout->slots) {
    PjrtArrays values;
    for (const std::string& name : slot.names) {
      auto found = arrays_.find(name);
      check(found != arrays_.end(), "no state is named " + name);
      PjrtArray& array = alive(*found->second);
      check(array.type() == slot.type && array.placement == Placement::replicate,
            name + " is of another type, or split");
      values.push_back(&array);
    }
    stored.push_back(slot.stacked ? shelf_->stack(values) : shelf_->alone(*values[0]));
  }
  return stored;
}

void PjrtState::replace(const std::shared_ptr<const StateLayout>& layout, StoredList made) {
  layout_ = layout;
  stored_ = std::move(made);
  if (!arrays_are_made_) return;
  for_each_array([](size_t, size_t, std::shared_ptr<DeviceArray>& entry) {
    static_cast<PjrtArray&>(*entry).dead = true;
    entry = nullptr;
  });
  arrays_are_made_ = false;
}

}  // namespace bertrain
