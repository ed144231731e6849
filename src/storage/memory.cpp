// Storage in memory: a map from name to bytes.
#include "storage/memory.h"

#include <cstring>

#include "base/error.h"

namespace bertrain {
namespace {

class MemoryWriter : public Writer {
 public:
  MemoryWriter(MemoryStorage& storage, std::string uri, Exists exists)
      : storage_(storage), uri_(std::move(uri)), exists_(exists) {}

  void append(std::span<const std::byte> bytes) override {
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  void commit() override { storage_.publish(uri_, exists_, std::move(bytes_)); }

 private:
  MemoryStorage& storage_;
  std::string uri_, bytes_;
  Exists exists_;
};

}  // namespace

std::optional<uint64_t> MemoryStorage::size(std::string_view uri) {
  std::lock_guard<std::mutex> guard(mutex_);
  auto found = objects_.find(uri);
  if (found == objects_.end()) return std::nullopt;
  return found->second.size();
}

void MemoryStorage::read(std::string_view uri, uint64_t offset, std::span<std::byte> into) {
  std::lock_guard<std::mutex> guard(mutex_);
  auto found = objects_.find(uri);
  if (found == objects_.end()) throw error("{}: no such object", uri);
  const std::string& bytes = found->second;
  if (offset > bytes.size() || bytes.size() - offset < into.size()) {
    throw error("{}: truncated: {} bytes expected at offset {}, {} found", uri, into.size(), offset,
                offset > bytes.size() ? 0 : bytes.size() - offset);
  }
  if (!into.empty()) std::memcpy(into.data(), bytes.data() + offset, into.size());
}

std::unique_ptr<Writer> MemoryStorage::create(std::string_view uri, Exists exists) {
  if (exists == Exists::fail && size(uri)) throw error("{}: exists already", uri);
  return std::make_unique<MemoryWriter>(*this, std::string(uri), exists);
}

std::vector<Object> MemoryStorage::list(std::string_view prefix) {
  std::lock_guard<std::mutex> guard(mutex_);
  std::vector<Object> objects;
  for (auto it = objects_.lower_bound(prefix);
       it != objects_.end() && it->first.starts_with(prefix); ++it) {
    objects.push_back({it->first, it->second.size()});
  }
  return objects;
}

void MemoryStorage::remove(std::string_view uri) {
  std::lock_guard<std::mutex> guard(mutex_);
  auto found = objects_.find(uri);
  if (found != objects_.end()) objects_.erase(found);
}

void MemoryStorage::publish(const std::string& uri, Exists exists, std::string bytes) {
  std::lock_guard<std::mutex> guard(mutex_);
  if (exists == Exists::fail && objects_.contains(uri)) throw error("{}: exists already", uri);
  objects_[uri] = std::move(bytes);
}

}  // namespace bertrain
