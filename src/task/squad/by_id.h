// Values by the id of a question, in the order in which ids came first, as Python's dict keeps them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bertrain {

template <class T>
class ById {
 public:
  // A later value of the same id takes the earlier one's place.
  void put(std::string id, T value) {
    auto [at, is_new] = index_.try_emplace(id, items_.size());
    if (is_new) {
      items_.emplace_back(std::move(id), std::move(value));
    } else {
      items_[at->second].second = std::move(value);
    }
  }
  const T* find(const std::string& id) const {  // null: not there
    auto at = index_.find(id);
    return at == index_.end() ? nullptr : &items_[at->second].second;
  }
  const std::vector<std::pair<std::string, T>>& items() const { return items_; }
  size_t size() const { return items_.size(); }

 private:
  std::vector<std::pair<std::string, T>> items_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace bertrain
