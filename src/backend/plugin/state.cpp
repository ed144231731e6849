// Slots to names and back.
#include "backend/plugin/state.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace bertrain {

std::shared_ptr<const StateLayout> Shelf::shared(StateLayout layout) {
  auto known = std::find_if(layouts_.begin(), layouts_.end(),
                            [&](const auto& other) { return *other == layout; });
  if (known != layouts_.end()) return *known;
  return layouts_.emplace_back(std::make_shared<const StateLayout>(std::move(layout)));
}

const DeviceArrays& PjrtState::arrays() {
  if (arrays_are_made_) return arrays_;
  for (size_t s = 0; s < stored_.size(); ++s) {
    const StateLayout::Slot& slot = layout_->slots[s];
    auto whole = std::make_shared<const ArrayType>(slot.type);
    for (size_t i = 0; i < slot.names.size(); ++i) {
      auto array = std::make_shared<PjrtArray>();
      array->whole = whole;
      array->stored = stored_[s];
      if (slot.stacked) array->layer = i;
      arrays_[slot.names[i]] = std::move(array);
    }
  }
  arrays_are_made_ = true;
  return arrays_;
}

void PjrtState::set(const std::string& name, std::shared_ptr<DeviceArray> array) {
  arrays();
  layout_ = nullptr;
  stored_.clear();
  arrays_[name] = std::move(array);
}

StoredList PjrtState::in(const std::shared_ptr<const StateLayout>& layout, Shelf& shelf) {
  if (layout == layout_) return stored_;
  arrays();
  StoredList stored;
  for (const StateLayout::Slot& slot : layout->slots) {
    PjrtArrays values;
    for (const std::string& name : slot.names) {
      auto found = arrays_.find(name);
      check(found != arrays_.end(), "a value of the state is missing: " + name);
      values.push_back(&alive(*found->second));
      check(values.back()->whole && *values.back()->whole == slot.type,
            name + " is of another type");
    }
    stored.push_back(slot.stacked ? shelf.stack(values) : shelf.alone(*values[0]));
  }
  return stored;
}

void PjrtState::replace(const std::shared_ptr<const StateLayout>& layout, StoredList made) {
  if (arrays_are_made_) {
    // They are dead, and might hold copies that were cut out for other programs.
    for (const StateLayout::Slot& slot : layout->slots) {
      for (const std::string& name : slot.names) arrays_[name] = nullptr;
    }
  }
  layout_ = layout;
  stored_ = std::move(made);
  arrays_are_made_ = false;
}

}  // namespace bertrain
